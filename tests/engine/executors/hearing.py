"""Children whose output can be looked at and awaited."""

import asyncio
import os
import resource
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
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


class Descriptors:
    """Those that are open now, of the whole process: there may be fewer later, if earlier tests left something that
    ends meanwhile. They tell what they are when there are more."""

    def __init__(self) -> None:
        self._open = [f"{one.name} {_target(one)}" for one in Path("/dev/fd").iterdir()]

    def __le__(self, before: "Descriptors") -> bool:
        return len(self._open) <= len(before._open)

    def __repr__(self) -> str:
        return "\n".join(["", *self._open])


def _target(link: Path) -> str:
    try:
        return str(link.readlink())
    except OSError:
        return "gone, or not told"


@contextmanager
def no_descriptors(*, but: int = 0) -> Iterator[None]:
    """Nothing more can be opened in this process, also if something is closed; or only so many at a time."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    free = [os.dup(0) for _ in range(but + 1)]
    for number in free:
        os.close(number)
    limit = free[-1] if but else 3  # the three that every process has stay open
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
