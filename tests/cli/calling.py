"""Calls `rota`: in this process, or as a process of its own."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

import msgspec
from click.testing import CliRunner

import rota as package
from rota.cli.main import cli
from tests.patience import LONG_DEADLINE_S
from tests.servers import wait_until

SOURCE = str(Path(package.__file__).parent.parent)


class Answer(NamedTuple):
    exit_code: int
    stdout: str
    stderr: str

    @property
    def json(self) -> Any:
        return msgspec.json.decode(self.stdout)


def rota(*words: str) -> Answer:
    """Call a verb in this process."""
    result = CliRunner().invoke(cli, words)
    return Answer(result.exit_code, result.stdout, result.stderr)


def done(*words: str) -> Answer:
    """Call a verb that must succeed."""
    answer = rota(*words)
    assert answer.exit_code == 0, answer
    return answer


def environment(**variables: str) -> dict[str, str]:
    """What a process of Rota needs, and nothing of the tester's own set-up."""
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "LANG", "TMPDIR")}
    return {**kept, "PYTHONPATH": SOURCE, **variables}


def call_process(*words: str, **variables: str) -> Answer:
    """Call a verb as a process and wait for its end."""
    ended = subprocess.run(
        [sys.executable, "-m", "rota", *words],
        capture_output=True,
        text=True,
        env=environment(**variables),
        timeout=LONG_DEADLINE_S,
    )
    return Answer(ended.returncode, ended.stdout, ended.stderr)


class RotaProcess:
    """A verb that goes on until it is stopped. Killed at the end of a test that left it running."""

    def __init__(self, words: Sequence[str], cwd: Path, program: Path | None = None, /, **variables: str) -> None:
        """`program` is an installed `rota`, in the place of the one in the source."""
        self.process = subprocess.Popen(
            [program, *words] if program else [sys.executable, "-m", "rota", *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=cwd,
            env=environment(**({"PYTHONPATH": ""} if program else {}), **variables),
        )
        self.stdout: list[str] = []
        self.stderr: list[str] = []
        self._readers = [
            threading.Thread(target=lines.extend, args=[stream], daemon=True)
            for lines, stream in ((self.stdout, self.process.stdout), (self.stderr, self.process.stderr))
        ]
        for reader in self._readers:
            reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.wait()
        for stream in (self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()

    def until(self, is_true: Callable[[], bool], what: str) -> None:
        """Ask until the answer is yes; a process that ended before is an error."""
        wait_until(lambda: self._is_true_yet(is_true), what)

    def until_said(self, text: str) -> None:
        """Wait for a piece of text in what the process says."""
        self.until(lambda: any(text in line for line in [*self.stdout, *self.stderr]), f"{text!r} in its output")

    def banner(self) -> Any:
        """The document that `--json` prints at the start."""
        self.until(lambda: "}\n" in self.stdout, "the end of its JSON document")
        return msgspec.json.decode("".join(self.stdout[: self.stdout.index("}\n") + 1]))

    def log_lines(self) -> list[Any]:
        """What it logged so far, as JSON."""
        return [msgspec.json.decode(line) for line in list(self.stderr) if line.startswith("{")]

    def log_errors(self) -> list[dict[str, Any]]:
        """Those that tell of a fault. A store that is slow to answer, on a slow machine, is none."""
        lines = [line for line in self.log_lines() if line["level"] == "error"]
        return [line for line in lines if line["message"] != "store unavailable, trying again"]

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Send a signal and wait for the end; returns the exit code."""
        self.process.send_signal(number)
        return self.wait()

    def wait(self) -> int:
        exit_code = self.process.wait(LONG_DEADLINE_S)
        self._hear_all()
        return exit_code

    def _is_true_yet(self, is_true: Callable[[], bool]) -> bool:
        """What a process says before it ends counts, also if it is heard afterwards."""
        if is_true():
            return True
        if self.process.poll() is None:
            return False
        self._hear_all()
        assert is_true(), f"it ended with {self.process.returncode}: {''.join(self.stdout + self.stderr)}"
        return True

    def _hear_all(self) -> None:
        for reader in self._readers:
            reader.join(LONG_DEADLINE_S)
