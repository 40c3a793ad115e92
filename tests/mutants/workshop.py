"""A copy of the project in a folder of its own, in which one change at a time is made and tested.

Nothing of the real tree takes part but its virtual environment. The copy's packages come first for every process that
the tests start (PYTHONPATH stands before the path of the editable install), which is looked at before anything else.
"""

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from enum import StrEnum
from multiprocessing import Pipe
from pathlib import Path

from msgspec import Struct

from tests.mutants.table import Mutant

LIMIT_S = 180.0
"""How long the tests of one change may take. Reaching it is an error and no verdict."""
UNCHANGED_LIMIT_S = 900.0
"""How long tests may take that run together without a change."""
HANGS_AFTER_TIMES = 5
"""Of a change that is said to hang, how many times as long as without it the tests may take."""
_WARM = Path(__file__).with_name("warm.py")
_NOT_COPIED = shutil.ignore_patterns(
    ".git", ".venv*", ".*_cache", ".hypothesis", "__pycache__", "build", "dist", "*.db"
)
# Loading every plugin that is installed takes longer than most of the tests.
_PLUGINS = ("-p", "pytest_timeout", "-p", "_hypothesis_pytestplugin", "-p", "no:cacheprovider")
# By this profile Hypothesis tries the same examples each time and keeps none for the next change.
_OPTIONS = (*_PLUGINS, "-x", "-q", "--timeout=0", "--hypothesis-profile=ci")
# Where there is CI, pytest compares long values to their last letter, which may take minutes. Without compiled code on
# disk, every process that the tests start would compile all that it imports.
_NOT_PASSED_ON = ("CI", "PYTHONDONTWRITEBYTECODE", "PYTEST_ADDOPTS")
_TAIL = 1_500


class Verdict(StrEnum):
    """What became of a change."""

    NOTICED = "noticed"
    SURVIVED = "survived"
    ERROR = "error"


class Trial(Struct, frozen=True):
    """How one run of tests ended."""

    exit_code: int | None
    """None: it was ended at its time limit."""
    took_s: float
    output: str
    cpu_s: float = 0.0
    """What it cost, whatever else the machine did."""

    @property
    def is_passed(self) -> bool:
        return self.exit_code == 0

    def verdict(self, mutant: Mutant) -> Verdict:
        """Only failed tests notice something. A change that keeps them from being collected says nothing of them."""
        if self.exit_code is None:
            return Verdict.NOTICED if mutant.hangs else Verdict.ERROR
        return {0: Verdict.SURVIVED, 1: Verdict.NOTICED}.get(self.exit_code, Verdict.ERROR)

    @property
    def failed_test(self) -> str:
        """The first that failed, as pytest names it; empty if none did."""
        found = re.search(r"^(?:FAILED|ERROR) (tests/.*?)(?: - .*)?$", self.output, re.MULTILINE)
        return found[1] if found and self.exit_code == 1 else ""

    @property
    def spent(self) -> str:
        end = ", ended at the time limit" if self.exit_code is None else ""
        return f"{self.took_s:.1f} s ({self.cpu_s:.1f} s of CPU){end}"

    @property
    def fault(self) -> str:
        """Why it is no verdict."""
        reason = "not ended at the time limit" if self.exit_code is None else f"pytest ended with {self.exit_code}"
        return f"{reason}: {self.output[-_TAIL:].strip()}"


class Workshop:
    """One copy. Used by one thread at a time, except for `close`."""

    def __init__(self, root: Path) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="rota-mutants-"))
        self._folder.chmod(0o755)  # a PostgreSQL that tests start as another user has its place below it
        self._tree = self._folder / "tree"
        self._changes = 0
        self._tests: int | None = None
        self._is_closed = False
        (self._folder / "tmp").mkdir()
        shutil.copytree(root, self._tree, symlinks=True, ignore=_NOT_COPIED)
        self._warm = self._started()

    def close(self) -> None:
        """End what runs and remove the copy."""
        self._is_closed = True
        self._end_tests()
        self._warm.kill()
        self._warm.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

    def is_what_processes_see(self) -> bool:
        """Whether a process of the tests, wherever it is started, takes the package from this copy."""
        command = [sys.executable, "-c", "import rota; print(rota.__path__[0])"]
        said = subprocess.run(command, env=self._environment(), cwd="/", capture_output=True, text=True, check=True)
        return Path(said.stdout.strip()).is_relative_to(self._tree)

    def _started(self) -> subprocess.Popen[bytes]:
        self._pipe, its_pipe = Pipe()
        with its_pipe:
            command = [sys.executable, str(_WARM), str(its_pipe.fileno())]
            return subprocess.Popen(command, cwd=self._tree, env=self._environment(), pass_fds=[its_pipe.fileno()])

    def try_unchanged(self, tests: str) -> Trial:
        return self._run(tests, UNCHANGED_LIMIT_S)

    def try_change(self, mutant: Mutant, *, unchanged_took_s: float) -> Trial:
        """Make the change, run its tests, and undo it."""
        with self._changed(mutant):
            return self._run(mutant.tests, HANGS_AFTER_TIMES * unchanged_took_s if mutant.hangs else LIMIT_S)

    @contextmanager
    def _changed(self, mutant: Mutant) -> Iterator[None]:
        path = self._tree / mutant.file
        text, times = path.read_text(), path.stat()
        path.write_text(text.replace(mutant.old, mutant.new))
        # Python takes a file for the same as its cached code if size and second are the same: no two changes share one.
        self._changes += 1
        os.utime(path, (times.st_atime, int(times.st_mtime) + self._changes))
        try:
            yield
        finally:
            if not self._is_closed:
                path.write_text(text)
                os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))

    def _run(self, tests: str, limit_s: float) -> Trial:
        output = self._folder / "output"
        began = time.monotonic()
        self._pipe.send(([*_OPTIONS, *shlex.split(tests)], str(output)))
        self._tests = self._pipe.recv()
        is_in_time = self._pipe.poll(limit_s)
        if not is_in_time:
            self._end_tests()
        exit_code, cpu_s = self._pipe.recv()
        self._tests = None
        took_s, said = time.monotonic() - began, output.read_text(errors="replace")
        return Trial(exit_code if is_in_time else None, took_s, said, cpu_s)

    def _end_tests(self) -> None:
        """End the tests and all that they started."""
        if self._tests is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._tests, signal.SIGKILL)
            with suppress(ProcessLookupError):
                os.kill(self._tests, signal.SIGKILL)  # if it has no group yet

    def _environment(self) -> dict[str, str]:
        ours = {
            "PYTHONPATH": os.pathsep.join([str(self._tree / "src"), str(self._tree)]),
            "TMPDIR": str(self._folder / "tmp"),
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            # Tests that wait for what a change keeps from happening give up sooner.
            "ROTA_TEST_PATIENCE_S": "15",
        }
        return {name: value for name, value in os.environ.items() if name not in _NOT_PASSED_ON} | ours
