"""What one job writes is nobody else's trouble: lines go to the store in small shares, beside everything else."""

import asyncio
import threading
import time
from collections.abc import Sequence
from typing import Any

import pytest

from rota.clock import SystemClock
from rota.engine.node.health import Health
from rota.engine.observation.happenings import Fault
from rota.engine.observation.observers import Observers
from rota.engine.worker.logs.log_stream import SHARE_CHARS, SHARE_LINES
from rota.engine.worker.logs.log_writer import LogWriter
from rota.errors import StoreFull, StoreUnavailable
from rota.model.job import JobState
from rota.model.limits import MAX_LOG_MESSAGE_BYTES
from rota.model.runs.settlement import Settlement
from rota.store import Store
from rota.store.contract.claims import Claims
from rota.store.contract.logs import LogBatch
from rota.testing import Faults
from tests.contract.building import claim_one
from tests.engine.job_functions import new_stage
from tests.engine.working import until, working
from tests.installation import Installation
from tests.patience import DEADLINE_S

# The contract tests hold all stores to the same promises; here one of each kind is enough.
pytestmark = pytest.mark.stores("sqlite-file", "redis")

LINES = 20_000


class Watched(Faults):
    """Notes how much each call writes."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.shares: list[tuple[int, int]] = []
        """Lines and characters."""

    def append_logs(self, batches: Sequence[LogBatch]) -> frozenset[str]:
        entries = [entry for batch in batches for entry in batch.entries]
        self.shares.append((len(entries), sum(len(entry.message) for entry in entries)))
        return self.real.append_logs(batches)


def all_messages(installation: Installation, job_id: str) -> list[str]:
    return [entry.message for entry in installation.store.read_logs(job_id, limit=1_000_000).entries]


@pytest.mark.parametrize("line", ["", "x" * 3_000], ids=["short", "long"])
def test_no_call_writes_more_than_a_share_and_no_line_is_lost(
    store: Store, installation: Installation, line: str
) -> None:
    async def scene() -> None:
        count = LINES if not line else 1_000
        watched = Watched(store)
        installation.define_command(f"seq -f '%.0f{line}' {count}")
        async with working(watched.store):
            job_id = installation.enqueue("command")
            (job,) = await installation.ended(job_id)

        assert job.state is JobState.SUCCEEDED
        assert all_messages(installation, job_id) == [f"{number}{line}" for number in range(1, count + 1)]
        assert max(lines for lines, _ in watched.shares) <= SHARE_LINES
        assert max(chars for _, chars in watched.shares) < SHARE_CHARS + MAX_LOG_MESSAGE_BYTES

    asyncio.run(scene())


def test_neighbours_are_claimed_run_and_settled_while_a_share_is_being_written(
    store: Store, installation: Installation
) -> None:
    async def scene() -> None:
        new_stage()
        may_write, writes = threading.Event(), threading.Event()
        faults = Faults(store)
        installation.define_python("nothing")
        installation.define_command(f"seq {LINES}")

        def hang() -> None:
            writes.set()
            assert may_write.wait(DEADLINE_S)

        faults.before("append_logs", hang)
        async with working(faults.store):
            flood = installation.enqueue("command")
            await until(writes.is_set, "a share to be under way")

            jobs = await installation.ended(*(installation.enqueue("nothing") for _ in range(20)))

            assert {job.state for job in jobs} == {JobState.SUCCEEDED}
            assert installation.job(flood).state is JobState.RUNNING
            may_write.set()
            await installation.ended(flood)
        assert all_messages(installation, flood) == [str(number) for number in range(1, LINES + 1)]

    asyncio.run(scene())


def test_a_job_goes_on_while_the_store_does_not_take_its_lines(store: Store, installation: Installation) -> None:
    async def scene() -> None:
        marker = "flooded"
        faults = Faults(store)
        installation.define_command(f"seq {LINES // 2}; echo {marker} >&2")

        def be_away() -> None:
            raise StoreUnavailable("the store is away")

        faults.before("append_logs", *[be_away] * 3)
        async with working(faults.store):
            job_id = installation.enqueue("command")
            (job,) = await installation.ended(job_id)

        assert job.state is JobState.SUCCEEDED
        messages = all_messages(installation, job_id)
        assert marker in messages
        numbers = [int(one) for one in messages if one.isdigit()]
        assert numbers == sorted(set(numbers)), "in order, and each once"

    asyncio.run(scene())


class Forgetful(Watched):
    """Takes the lines of a job that has ended, and then not its end, once."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.is_well = False

    def finish_and_claim_jobs(self, queue: str, settlements: Sequence[Settlement], **more: Any) -> Claims:
        self._fail_once(settlements)
        return self.real.finish_and_claim_jobs(queue, settlements, **more)

    def finish_jobs(self, queue: str, settlements: Sequence[Settlement], *, now: int) -> frozenset[str]:
        self._fail_once(settlements)
        return self.real.finish_jobs(queue, settlements, now=now)

    def _fail_once(self, settlements: Sequence[Settlement]) -> None:
        if settlements and not self.is_well:
            self.is_well = True
            raise StoreUnavailable("away")


def test_lines_that_were_written_although_the_end_of_their_job_was_not_are_not_written_again(
    store: Store, installation: Installation
) -> None:
    async def scene() -> None:
        stage, faults = new_stage(), Forgetful(store)
        stage.gate.set()
        installation.define_python("speak_and_wait")
        async with working(faults.store):
            job_id = installation.enqueue("speak_and_wait", {"lines": 3})
            (job,) = await installation.ended(job_id)

        assert job.state is JobState.SUCCEEDED
        assert faults.is_well
        assert all_messages(installation, job_id) == ["line 0", "line 1", "line 2"]
        assert sum(lines for lines, _ in faults.shares) == 3

    asyncio.run(scene())


def test_a_store_that_is_away_is_not_asked_to_take_lines_all_the_time(store: Store, installation: Installation) -> None:
    async def scene() -> None:
        stage = new_stage()
        faults, asked_at = Faults(store), list[float]()
        installation.define_python("speak_and_wait")

        def be_away() -> None:
            asked_at.append(time.monotonic())
            raise StoreUnavailable("away")

        async with working(faults.store):
            faults.before("append_logs", be_away, be_away)
            job_id = installation.enqueue("speak_and_wait", {"lines": 3})
            await until(lambda: len(asked_at) == 2, "a second try")
            stage.gate.set()
            await installation.ended(job_id)

        assert asked_at[1] - asked_at[0] >= 0.9
        assert all_messages(installation, job_id) == ["line 0", "line 1", "line 2"]

    asyncio.run(scene())


def test_a_store_without_room_for_lines_keeps_no_job_from_ending(store: Store, installation: Installation) -> None:
    async def scene() -> None:
        faults = Faults(store)
        installation.define_command("seq 1000")

        def be_full() -> None:
            raise StoreFull("no room")

        faults.before("append_logs", *[be_full] * 1_000)
        async with working(faults.store):
            (job,) = await installation.ended(installation.enqueue("command"))

        assert job.state is JobState.SUCCEEDED

    asyncio.run(scene())


def test_a_node_that_must_stop_at_once_leaves_a_flood_and_its_lines_in_order(
    store: Store, installation: Installation
) -> None:
    async def scene() -> None:
        installation.define_command(f"seq {LINES}; sleep 60")
        async with working(store):
            job_id = installation.enqueue("command")
            await until(lambda: bool(installation.messages(job_id)), "the first lines")

        assert installation.job(job_id).state is JobState.QUEUED
        *messages, last = [one for one in all_messages(installation, job_id) if one.isdigit()]
        assert messages == [str(number) for number in range(1, len(messages) + 1)]
        assert str(len(messages) + 1).startswith(last), "a command that is killed may be in the middle of a line"

    asyncio.run(scene())


def test_the_loop_goes_on_while_a_writer_that_ends_waits_for_its_last_share(
    store: Store, installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rota.engine.bridge.store_thread.LONGEST_END_S", 2 * DEADLINE_S)

    async def scene() -> None:
        faults, loop, clock = Faults(store), asyncio.get_running_loop(), SystemClock()
        under_way, is_to_end, loop_answers = threading.Event(), threading.Event(), threading.Event()
        heard: list[bool] = []

        def ask_loop() -> None:
            under_way.set()
            is_to_end.wait(DEADLINE_S)
            loop.call_soon_threadsafe(loop_answers.set)
            heard.append(loop_answers.wait(DEADLINE_S))

        faults.before("append_logs", ask_loop)
        writer = LogWriter(faults.store, clock=clock, health=Health(), observers=Observers(), on_written=lambda: None)
        writing = asyncio.create_task(writer.run())
        installation.define_python("nothing")
        job_id = installation.enqueue("nothing")
        writer.logs.add(claim_one(store, installation.queue, now=store.now()), "a line", "info")
        await until(under_way.is_set, "the line to be under way")

        writing.cancel()
        is_to_end.set()
        await asyncio.wait({writing})

        assert heard == [True]
        assert all_messages(installation, job_id) == ["a line"]

    asyncio.run(scene())


def test_text_and_numbers_of_other_classes_are_written_as_what_they_are(
    store: Store, installation: Installation
) -> None:
    faults: list[Fault] = []

    async def scene() -> None:
        installation.define_python("speak_in_other_classes")
        observers = Observers()
        observers.add(Fault, faults.append)
        async with working(store, observers=observers):
            job_id = installation.enqueue("speak_in_other_classes")
            (job,) = await installation.ended(job_id)

        (line,) = store.read_logs(job_id).entries
        progress = store.read_progress(installation.queue, [job_id])[job_id]
        assert job.state is JobState.SUCCEEDED
        assert (line.message, line.level) == ("a marked line", "warning")
        assert (progress.done, progress.total, progress.message) == (0.5, 2.0, "a quarter")
        assert faults == []

    asyncio.run(scene())
