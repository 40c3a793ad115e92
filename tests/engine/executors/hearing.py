"""Children whose output can be looked at and awaited."""

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path

from rota.engine.executors.process.child import Child, start_child


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


def open_descriptors() -> int:
    """Of the whole process: there may be fewer later, if earlier tests left something that ends meanwhile."""
    return len(list(Path("/dev/fd").iterdir()))
