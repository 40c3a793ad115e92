"""One shell per page, in an empty folder: a reader's terminal. What a page starts for good goes on in the background,
as in a reader's second terminal, and ends with the shell."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.cli.calling import SOURCE
from tests.docs.pages import Command
from tests.docs.shown import fits
from tests.patience import LONG_DEADLINE_S
from tests.processes import is_alive
from tests.servers import wait_until

_END = "-- end of the command --"
_NODE = r"^node +[0-9a-f]{8}-"
_ENDLESS = {
    "rota up": _NODE,
    "rota worker": rf"{_NODE}|^processes ",
    "rota scheduler": _NODE,
    "rota server": _NODE,
    "rota watch": "^Watching ",
    "flask ": "Running on ",
}
"""Commands that go on until they are stopped, and what they say when they are ready."""
_LOOKS = (
    *("rota jobs", "rota job ", "rota logs", "rota nodes", "rota queues", "rota schedule ticks", "rota explain"),
    *("rota event list", "redis-cli LRANGE", "redis-cli HKEYS", "redis-cli HGET", "redis-cli HVALS"),
    *("redis-cli ZRANGE", "redis-cli ZCARD", "redis-cli HGETALL", "rota sources", "rota tasks", "rota topic"),
    *("rota why", "rota doctor"),
)
"""Commands that only look. What they show may still be on its way, so they are repeated until it has come."""


class Session:
    """Runs commands one after the other; what one exports, the next one has."""

    def __init__(self, folder: Path, own_programs: Path, *, port: int) -> None:
        """`port` is where Rota listens unless a command names another."""
        self.folder = folder
        self._logs = own_programs / "logs"
        self._logs.mkdir(parents=True)
        self._started: list[int] = []
        self._shell = subprocess.Popen(
            ["bash", "--norc"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=folder,
            env={**_environment(own_programs), "ROTA_PORT": str(port)},
        )
        # Whatever becomes of the tests, the end of its input ends the shell, and with it what it started. After the
        # second signal nobody waits for jobs that run.
        self._shell_run("trap 'kill $(jobs -p) 2>/dev/null; kill -INT $(jobs -p) 2>/dev/null; wait' EXIT")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._shell.communicate(timeout=LONG_DEADLINE_S)

    def run(self, command: Command) -> None:
        """Run a command, and compare what it prints with what the page shows."""
        for start, ready in _ENDLESS.items():
            if command.text.startswith(start) and "--burst" not in command.text:
                self._start(command, ready)
                return
        if command.text.startswith(_LOOKS) and command.shown:
            self._look(command)
            return
        output, exit_code = self._shell_run(command.text)
        assert exit_code == 0, f"{command.text!r} ended with {exit_code}:\n{output}"
        _check(command, output)

    def run_python(self, code: str, shown: list[str]) -> None:
        """Run a script where the page's files are."""
        script = self.folder / ".example.py"
        script.write_text(code)
        try:
            self.run(Command("python .example.py", shown))
        finally:
            script.unlink()

    def _look(self, command: Command) -> None:
        last = ""

        def is_there() -> bool:
            nonlocal last
            last, exit_code = self._shell_run(command.text)
            return exit_code == 0 and fits(command.shown, last)

        try:
            wait_until(is_there, f"{command.text!r} to show what the page shows")
        except Exception:
            _check(command, last)
            raise

    def _start(self, command: Command, ready: str) -> None:
        number = len(self._started)
        out, err = self._logs / f"{number}.out", self._logs / f"{number}.err"
        out.touch()
        err.touch()
        command_line = _without_comment(command.text)
        answer, _ = self._shell_run(f"{command_line} >{shlex.quote(str(out))} 2>{shlex.quote(str(err))} & echo $!")
        pid = int(answer)
        self._started.append(pid)

        def is_ready() -> bool:
            said = out.read_text() + err.read_text()
            assert is_alive(pid), f"{command.text!r} ended:\n{said}"
            return re.search(ready, said, re.MULTILINE) is not None

        wait_until(is_ready, f"{command.text!r} to be ready")
        _check(command, out.read_text())

    def _shell_run(self, command: str) -> tuple[str, int]:
        """What a command prints, and its exit code."""
        assert self._shell.stdin is not None
        assert self._shell.stdout is not None
        self._shell.stdin.write(f"{{ {command}\n}} </dev/null\n_ended=$?; echo; echo '{_END}' $_ended\n")
        self._shell.stdin.flush()
        lines: list[str] = []
        for line in self._shell.stdout:
            if line.startswith(_END):
                return "".join(lines).removesuffix("\n"), int(line.removeprefix(_END))
            lines.append(line)
        raise AssertionError(f"the shell ended in {command!r}:\n{''.join(lines)}")


def _check(command: Command, output: str) -> None:
    if command.shown and not fits(command.shown, output):
        shown = "\n".join(command.shown)
        raise AssertionError(f"{command.text!r} does not print what the page shows.\nPage:\n{shown}\nHere:\n{output}")


def _without_comment(text: str) -> str:
    return shlex.join(shlex.split(text, comments=True))


def _environment(own_programs: Path) -> dict[str, str]:
    """What a reader has: `rota` and `python` on the path, nothing of the tester's own set-up."""
    kept = {name: value for name, value in os.environ.items() if name in ("HOME", "LANG", "TMPDIR")}
    path = os.pathsep.join([str(own_programs), str(Path(sys.executable).parent), os.environ["PATH"]])
    # Unbuffered, so that what goes to the two outputs comes in the order in which a terminal shows it.
    return {**kept, "PATH": path, "PYTHONPATH": SOURCE, "PYTHONUNBUFFERED": "1", "TZ": "UTC"}
