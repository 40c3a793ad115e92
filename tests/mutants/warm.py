"""A process that has imported what is not ours, and forks itself for each run of tests: the start of Python and of its
libraries takes longer than most of the tests.

It is run by its path, so that nothing of the package `tests` is loaded before the copy's, and is spoken with through
the pipe whose number it is given: for each run it hears the arguments for pytest and where the output goes, and tells
the number of the process that runs the tests, then how that ended.
"""

import gc
import importlib
import os
import signal
import sys
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path

_LIBRARIES = (
    "confluent_kafka",
    "fastavro",
    "flask",
    "hiredis",
    "httpx2",
    "hypothesis",
    "jinja2",
    "msgspec",
    "opentelemetry.trace",
    "pytest",
    "redis.asyncio",
    "redis.cluster",
    "sqlite3",
    "starlette.testclient",
    "uvicorn.main",
    "uvloop",
    "watchfiles",
    "xml.etree.ElementTree",
    "yaml",
)
"""What many tests need. One that is not installed is left out: tests that need it say so themselves."""


def main(pipe: Connection) -> None:
    sys.path.pop(0)  # this folder, which `python -m pytest` would not have there
    for name in _LIBRARIES:
        with suppress(ImportError):
            importlib.import_module(name)
    gc.freeze()
    with suppress(EOFError, KeyboardInterrupt):
        while True:
            arguments, output = pipe.recv()
            _run(pipe, arguments, output)


def _run(pipe: Connection, arguments: list[str], output: str) -> None:
    child = os.fork()
    if child == 0:
        pipe.close()
        _run_tests(arguments, output)
    pipe.send(child)
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    with suppress(ProcessLookupError):
        os.killpg(
            child, signal.SIGKILL
        )  # what the tests left; as long as nobody asked how it ended, its number is its own
    _, status, used = os.wait4(child, 0)
    pipe.send((os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime))


def _run_tests(arguments: list[str], output: str) -> None:
    """As `python -m pytest` would, in a session of its own."""
    import pytest

    os.setsid()
    with Path(output).open("wb") as written, Path(os.devnull).open("rb") as nothing:
        for here, there in ((nothing, 0), (written, 1), (written, 2)):
            os.dup2(here.fileno(), there)
    sys.argv = ["pytest", *arguments]
    answer = pytest.main(arguments)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(int(answer))  # a change may have left a thread that never ends, and an exit would wait for it


if __name__ == "__main__":
    main(Connection(int(sys.argv[1])))
