"""Syncs of a process that the test lets fail, or stops in the middle: a small C library, built when it is needed."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

_SOURCE = Path(__file__).with_name("sync_shim.c")


class Syncs:
    """What becomes of the syncs of the processes that are started with `environment`."""

    def __init__(self, folder: Path) -> None:
        self._order = folder / "sync-order"
        self.environment = {"LD_PRELOAD": str(_build(folder)), "ROTA_TEST_SYNC": str(self._order)}

    def fail(self) -> None:
        """From now on every sync is an I/O error."""
        self._order.write_text("fail")

    def succeed(self) -> None:
        """From now on syncs are real again."""
        self._order.unlink(missing_ok=True)

    def stop_at_next(self) -> None:
        """The next sync stops its process, as SIGSTOP does. SQLite syncs a commit after it wrote it into its log, and
        before anybody can see it."""
        self._order.write_text("stop")


def _build(folder: Path) -> Path:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if not sys.platform.startswith("linux") or compiler is None:
        pytest.skip("needs Linux and a C compiler, to reach into the syncs of a process")
    library = folder / "sync_shim.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", str(library), str(_SOURCE), "-ldl"], check=True)
    return library
