"""Children whose output can be looked at and awaited."""

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path

from rota.engine.executors.process.child import Child, start_child
from tests.patience import DEADLINE_S
from tests.servers import ServerError, wait_until


class Heard:
    """What a child wrote."""

    def __init__(self) -> None:
        self.out = b""
        self.err = b""
        self._lines: asyncio.Queue[bytes] = asyncio.Queue()

    def on_out(self, chunk: bytes) -> None:
        self.out += chunk
        for line in chunk.splitlines():
            self._lines.put_nowait(line)

    def on_err(self, chunk: bytes) -> None:
        self.err += chunk

    async def line(self) -> str:
        return (await self._lines.get()).decode()


def start(argv: Sequence[str], heard: Heard, cwd: str | None = None) -> Child:
    return start_child(argv, environment=dict(os.environ), stdout=heard.on_out, stderr=heard.on_err, cwd=cwd)


def bash(script: str, heard: Heard) -> Child:
    return start(["bash", "-c", script], heard)


class Descriptors:
    """Those that are open now, of the whole process: there may be fewer later, if earlier tests left something that
    ends meanwhile."""

    def __init__(self) -> None:
        self.lines = [f"{one.name} {_target(one)}" for one in Path("/dev/fd").iterdir()]

    def await_no_more(self) -> None:
        """Returns when no more are open than then. There may be more for a moment, as long as a client of Kafka lives
        in this process that its test could not end; what nobody closes stays, and is an error that tells all."""
        try:
            wait_until(lambda: len(Descriptors().lines) <= len(self.lines), "them", deadline_s=DEADLINE_S)
        except ServerError:
            lines = ["more are open:", *Descriptors().lines, "than these:", *self.lines]
            raise AssertionError("\n".join(lines)) from None


def _target(link: Path) -> str:
    try:
        return str(link.readlink())
    except OSError:
        return "gone, or not told"
