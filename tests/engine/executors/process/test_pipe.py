"""A pipe reads as much at a time as can be dealt with quickly, pauses in a flood, and reads nothing while its sink asks
it to wait."""

import asyncio
import os
from contextlib import closing, suppress
from pathlib import Path

import pytest

from rota.engine.executors.process.pipe import BREATH_BYTES, CHUNK, LEAST_CHUNK, MOST_LINES, WAIT, Pipe, open_pipes
from tests.engine.working import until
from tests.shortage import no_descriptors


class Sink:
    """Notes the sizes of chunks and answers as it is told."""

    def __init__(self, answer: object) -> None:
        self.answer = answer
        self.sizes: list[int] = []

    def __call__(self, chunk: bytes) -> object:
        if chunk:
            self.sizes.append(len(chunk))
        return self.answer


def flooded(sink: Sink) -> Pipe:
    """A pipe that holds all that it can."""
    pipe = Pipe(sink)
    os.set_blocking(pipe.write_end, False)
    os.write(pipe.write_end, b"x" * CHUNK)
    return pipe


def test_chunks_that_cost_little_become_large() -> None:
    sink = Sink(0)
    with closing(flooded(sink)) as pipe:
        pipe.drain()

        assert sum(sink.sizes) == CHUNK
        assert sink.sizes[1] == 2 * sink.sizes[0]


def test_chunks_of_many_lines_become_small_and_leave_the_loop_its_time() -> None:
    sink = Sink(MOST_LINES + 1)
    with closing(flooded(sink)) as pipe:
        pipe.drain()
        assert len(sink.sizes) == 1, "the loop has its turn after each"
        for _ in range(20):
            pipe.read()

        assert sink.sizes[-1] == LEAST_CHUNK


def test_the_last_drain_takes_everything() -> None:
    sink = Sink(MOST_LINES + 1)
    with closing(flooded(sink)) as pipe:
        pipe.drain_whole()

        assert sum(sink.sizes) == CHUNK


def test_nothing_is_read_while_the_sink_asks_to_wait() -> None:
    async def scene() -> None:
        sink = Sink(WAIT)
        with closing(flooded(sink)) as pipe:
            pipe.close_write_end()
            ended: list[Pipe] = []
            pipe.listen(asyncio.get_running_loop(), ended.append)
            await until(lambda: len(sink.sizes) == 1, "the first chunk")
            for _ in range(20):
                await asyncio.sleep(0)
            assert len(sink.sizes) == 1

            sink.answer = 0
            await until(lambda: bool(ended), "the end of the stream")
            assert sum(sink.sizes) == CHUNK

    asyncio.run(scene())


def test_a_flood_pauses_and_goes_on() -> None:
    """Without a pause the writer and the loop would take whole cores from everybody else."""

    class StillLoop(asyncio.SelectorEventLoop):
        """Its clock stands still: no timer comes before the test says so."""

        now = 0.0

        def time(self) -> float:
            return self.now

    async def flood(pipe: Pipe) -> None:
        for _ in range(10 * BREATH_BYTES // CHUNK):
            with suppress(BlockingIOError):
                os.write(pipe.write_end, b"x" * CHUNK)
            await asyncio.sleep(0)

    async def scene() -> None:
        sink = Sink(0)
        with closing(flooded(sink)) as pipe:
            loop = asyncio.get_running_loop()
            assert isinstance(loop, StillLoop)
            pipe.listen(loop, lambda _: None)

            await flood(pipe)
            before_pause = sum(sink.sizes)
            assert BREATH_BYTES <= before_pause < BREATH_BYTES + CHUNK

            loop.now += 1
            await flood(pipe)
            assert sum(sink.sizes) >= before_pause + BREATH_BYTES

    with asyncio.Runner(loop_factory=StillLoop) as runner:
        runner.run(scene())


def test_a_pipe_that_waits_can_be_closed() -> None:
    async def scene() -> None:
        sink = Sink(WAIT)
        pipe = flooded(sink)
        pipe.listen(asyncio.get_running_loop(), lambda _: None)
        await until(lambda: bool(sink.sizes), "the first chunk")

        pipe.close()

        await asyncio.sleep(0.05)
        assert len(sink.sizes) == 1

    asyncio.run(scene())


def test_of_pipes_that_could_not_all_be_opened_none_stays_open() -> None:
    before = len(list(Path("/dev/fd").iterdir()))

    with no_descriptors(but=4), pytest.raises(OSError, match="open files"):
        open_pipes([lambda chunk: None] * 3)

    assert len(list(Path("/dev/fd").iterdir())) == before
