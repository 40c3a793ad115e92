"""After how many jobs, or with how much memory, a process of a worker makes room for a fresh one."""

import logging
import os
import resource
import sys
from collections.abc import Callable
from pathlib import Path

from rota.engine.observation.happenings import JobsSettled
from rota.errors import InvalidInput

LOOK_S = 1.0
_MIB = 1024 * 1024
_STATM = Path("/proc/self/statm")
_logger = logging.getLogger("rota.node")


class Limits:
    """A duty of a process that has limits. Counts what ran, looks at the memory, and says once that it is enough."""

    def __init__(self, *, max_jobs: int | None, max_memory: int | None, on_reached: Callable[[], None]) -> None:
        """`max_memory` is in bytes of resident memory."""
        self._max_jobs = max_jobs
        self._max_memory = max_memory
        self._on_reached = on_reached
        self._jobs = 0
        self.is_over = False
        if max_memory is not None and (now := resident_bytes()) >= max_memory:
            reason = f"this process has {now // _MIB} MiB before its first job; allow it more than that"
            raise InvalidInput("max_memory", reason)

    def run_once(self, now: int) -> float:
        if self._max_memory is not None and (found := resident_bytes()) >= self._max_memory:
            self._reached(f"it has {found // _MIB} MiB of memory")
        return LOOK_S

    def count(self, settled: JobsSettled) -> None:
        """An observer."""
        self._jobs += sum(one.ran is not None for one in settled.settlements)
        if self._max_jobs is not None and self._jobs >= self._max_jobs:
            self._reached(f"it ran {self._jobs} jobs")

    def _reached(self, why: str) -> None:
        if not self.is_over:
            self.is_over = True
            _logger.info("this process makes room for a fresh one: %s", why)
            self._on_reached()


def resident_bytes() -> int:
    """How much memory this process has; where the system does not tell, the most that it ever had."""
    try:
        return int(_STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most if sys.platform == "darwin" else most * 1024
