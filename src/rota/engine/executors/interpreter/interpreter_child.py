"""What every Python process for one run does first, and how it talks to its node."""

import logging
import os
import sys
import threading
from pathlib import Path

import msgspec

from rota.engine.executors.executor import Run
from rota.engine.executors.interpreter.messages import Message, Request
from rota.engine.executors.output import LogCap, PlainSink
from rota.engine.executors.process.environment import RESULT_FD


class ResultPipe:
    """The way to the node. Threads of the job may log at the same time."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._lock = threading.Lock()
        self._encoder = msgspec.json.Encoder()

    def log(self, message: str, level: str) -> None:
        self.send(Message(log=message, level=level))

    def note(self, done: float, total: float | None, message: str) -> None:
        self.send(Message(progress=(done, total, message)))

    def send(self, message: Message) -> None:
        line = self._encoder.encode(message) + b"\n"
        with self._lock:
            while line:
                line = line[os.write(self._fd, line) :]


def open_call() -> tuple[Request, ResultPipe]:
    """What is to be run, and the way to answer. Afterwards this process looks to the job like any other."""
    pipe = ResultPipe(_take_result_fd())
    request = msgspec.json.decode(_take_input(), type=Request)
    _prepare_streams()
    logging.root.setLevel(logging.INFO)
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, "")
    return request, pipe


def run_of(request: Request, pipe: ResultPipe) -> Run:
    return Run(
        request.spec,
        request.job_type,
        request.attempt,
        LogCap(PlainSink(pipe.log, pipe.note)),
        request.stop_grace_s,
        fencing_number=request.fencing_number,
    )


def _take_result_fd() -> int:
    """Our end of the result pipe, kept from programs that the job starts."""
    fd = int(os.environ.pop(RESULT_FD))
    os.set_inheritable(fd, False)
    return fd


def _take_input() -> bytes:
    """The request; from then on standard input is empty, as it is for every job."""
    with open(0, "rb", closefd=False) as stdin:
        request = stdin.read()
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return request


def _prepare_streams() -> None:
    """Lines reach the live log as they are printed."""
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="backslashreplace", line_buffering=True)  # type: ignore[union-attr]
