"""The jobs that a worker has in hand."""

import asyncio
from typing import cast

import pytest

from rota.engine.worker.attempt import Attempt, Stop
from rota.engine.worker.hands import Hands
from rota.model.job import Claim
from rota.model.runs.outcome import INTERRUPTED, Outcome, OutcomeKind, succeeded
from rota.store.contract.queues import Cancellation
from tests.contract.building import spec

DONE = succeeded(None)


def new_attempt(
    job_id: str | None = None,
    *,
    token: str = "node/1",
    claimed_at: float = 0.0,
    rank: int = 0,
    is_begun: bool = True,
) -> Attempt:
    claim = Claim(spec("queue", job_id=job_id), token, rank=rank, attempts=0, deaths=0, is_begun=is_begun)
    return Attempt(claim, claimed_at)


class Kept:
    """Hands, and what came of the attempts in them."""

    def __init__(self) -> None:
        self.ends: list[tuple[Attempt, Outcome]] = []
        self.changes = 0
        self.hands = Hands(on_end=lambda attempt, outcome: self.ends.append((attempt, outcome)), on_change=self._count)

    def _count(self) -> None:
        self.changes += 1

    def kinds(self) -> list[OutcomeKind]:
        return [outcome.kind for _, outcome in self.ends]


def test_a_job_waits_for_a_slot_and_is_in_hand_until_it_ends() -> None:
    kept = Kept()
    attempt = new_attempt()

    kept.hands.take(attempt)

    assert list(kept.hands.waiting) == [attempt]
    assert kept.hands.tokens() == {attempt.claim.spec.id: "node/1"}
    assert (len(kept.hands), kept.hands.running) == (1, 0)

    kept.hands.waiting.popleft()
    assert kept.hands.running == 1
    kept.hands.end(attempt, DONE)
    assert len(kept.hands) == 0
    assert kept.ends == [(attempt, DONE)]


def test_a_free_slot_takes_a_job_at_once_and_slots_that_gave_up_are_passed_over() -> None:
    async def scene() -> None:
        kept = Kept()
        gone = asyncio.create_task(kept.hands.next_attempt())
        free = asyncio.create_task(kept.hands.next_attempt())
        await asyncio.sleep(0)
        assert kept.changes == 2
        gone.cancel()
        await asyncio.wait([gone])
        attempt = new_attempt()

        kept.hands.take(attempt)

        assert await free is attempt
        assert not kept.hands.waiting
        assert not kept.hands.has_idle_slot

    asyncio.run(scene())


def test_a_second_attempt_at_a_job_begins_when_the_first_has_ended_which_is_not_recorded() -> None:
    kept = Kept()
    first = new_attempt()
    second = new_attempt(first.claim.spec.id, token="node/2")
    kept.hands.take(first)
    kept.hands.waiting.popleft()

    kept.hands.take(second)

    assert first.reason is Stop.LOST
    assert not kept.hands.waiting
    kept.hands.end(first, DONE)
    assert list(kept.hands.waiting) == [second]
    assert kept.ends == []
    assert kept.hands.tokens() == {first.claim.spec.id: "node/2"}


def three_attempts_at_one_job(kept: Kept) -> tuple[Attempt, Attempt, Attempt]:
    """The first is in a slot; the second was lost before it could begin."""
    first = new_attempt()
    job_id = first.claim.spec.id
    second, third = new_attempt(job_id, token="node/2"), new_attempt(job_id, token="node/3")
    kept.hands.take(first)
    kept.hands.waiting.popleft()
    kept.hands.take(second)
    kept.hands.take(third)
    return first, second, third


def test_of_three_attempts_at_a_job_the_last_runs_when_the_others_have_ended_which_are_not_recorded() -> None:
    kept = Kept()
    first, second, third = three_attempts_at_one_job(kept)
    assert [one.reason for one in (first, second, third)] == [Stop.LOST, Stop.LOST, None]
    assert not kept.hands.waiting
    assert kept.hands.tokens() == {first.claim.spec.id: "node/3"}

    kept.hands.end(first, DONE)
    assert kept.hands.waiting.popleft() is second  # a slot takes it, does not run it, and ends it
    kept.hands.end(second, INTERRUPTED)
    assert kept.hands.waiting.popleft() is third
    kept.hands.end(third, DONE)

    assert kept.ends == [(third, DONE)]
    assert len(kept.hands) == 0


def test_of_three_attempts_at_a_job_closed_hands_give_back_the_last() -> None:
    kept = Kept()
    first, _, third = three_attempts_at_one_job(kept)

    kept.hands.close()
    kept.hands.end(first, DONE)

    assert kept.ends == [(third, INTERRUPTED)]
    assert len(kept.hands) == 0


def test_a_run_whose_claim_was_lost_is_not_recorded() -> None:
    kept = Kept()
    attempt = new_attempt()
    kept.hands.take(attempt)
    kept.hands.waiting.popleft()

    kept.hands.stop(attempt, Stop.LOST)
    kept.hands.end(attempt, DONE)

    assert kept.ends == []
    assert len(kept.hands) == 0


def test_what_is_cancelled_while_it_waits_ends_without_having_run() -> None:
    kept = Kept()
    attempt = new_attempt()
    kept.hands.take(attempt)

    kept.hands.cancel_attempts([Cancellation(attempt.claim.spec.id), Cancellation("unknown")])

    assert kept.kinds() == [OutcomeKind.CANCELLED]
    assert not kept.hands.waiting


@pytest.mark.parametrize(("token", "is_cancelled"), [("node/2", True), ("node/1", False), (None, True)])
def test_only_the_attempt_is_cancelled_that_was_meant_if_it_is_known(token: str | None, is_cancelled: bool) -> None:
    kept = Kept()
    attempt = new_attempt(token="node/2")
    kept.hands.take(attempt)

    kept.hands.cancel_attempts([Cancellation(attempt.claim.spec.id, token), Cancellation("unknown", "node/2")])

    assert kept.kinds() == ([OutcomeKind.CANCELLED] if is_cancelled else [])


def test_what_waits_for_long_goes_back_with_all_that_is_behind_it() -> None:
    kept = Kept()
    running, urgent, old, behind = (
        new_attempt(claimed_at=at, rank=rank) for rank, at in enumerate((0.0, 2.0, 1.0, 2.0))
    )
    kept.hands.take_all([running, old, behind])
    assert kept.hands.waiting.popleft() is running
    kept.hands.take_all([urgent])

    assert kept.hands.give_back(claimed_before=1.0) == 0
    assert kept.hands.give_back(claimed_before=2.0) == 2

    assert kept.ends == [(old, INTERRUPTED), (behind, INTERRUPTED)]
    assert list(kept.hands.waiting) == [urgent]


def test_closed_hands_begin_nothing_more() -> None:
    kept = Kept()
    waiting, late = new_attempt(), new_attempt()
    kept.hands.take(waiting)

    kept.hands.close()
    kept.hands.take(late)

    assert kept.ends == [(waiting, INTERRUPTED), (late, INTERRUPTED)]
    assert len(kept.hands) == 0


def test_the_end_of_a_run_that_was_left_behind_comes_too_late() -> None:
    kept = Kept()
    attempt = new_attempt()
    kept.hands.take(attempt)
    kept.hands.waiting.popleft()

    kept.hands.end(attempt, INTERRUPTED)
    kept.hands.end(attempt, DONE)

    assert kept.ends == [(attempt, INTERRUPTED)]


def test_the_buffer_is_kept_in_order_whatever_comes_when() -> None:
    kept = Kept()
    first, second, third = new_attempt(rank=1), new_attempt(rank=2), new_attempt(rank=3)

    kept.hands.take_all([second, third])
    kept.hands.take_all([first])

    assert list(kept.hands.waiting) == [first, second, third]


def test_of_what_was_claimed_ahead_and_runs_for_a_while_the_store_is_to_be_told() -> None:
    async def scene() -> None:
        kept = Kept()
        ahead, known, waiting = new_attempt(is_begun=False), new_attempt(), new_attempt(is_begun=False)
        for attempt in (ahead, known, waiting):
            kept.hands.take(attempt)
        for attempt in (ahead, known):
            attempt.task, attempt.started_at = cast(asyncio.Task[None], asyncio.current_task()), 1_000

        assert kept.hands.untold(started_before=999) == []
        assert kept.hands.untold(started_before=1_000) == [ahead]
        ahead.is_known_to_run = True
        assert kept.hands.untold(started_before=1_000) == []

    asyncio.run(scene())


def test_a_slot_that_is_cancelled_in_the_moment_of_a_handing_over_has_the_job_all_the_same() -> None:
    async def scene() -> None:
        kept, attempt = Kept(), new_attempt()
        slot = asyncio.create_task(kept.hands.next_attempt())
        await asyncio.sleep(0)

        kept.hands.take(attempt)
        slot.cancel()

        assert await slot is attempt

    asyncio.run(scene())


def test_a_slot_that_is_cancelled_while_it_waits_looks_again_and_the_job_goes_to_another() -> None:
    async def scene() -> None:
        kept, attempt = Kept(), new_attempt()
        first, second = (asyncio.create_task(kept.hands.next_attempt()) for _ in range(2))
        await asyncio.sleep(0)

        first.cancel()
        kept.hands.take(attempt)

        assert (await first, await second) == (None, attempt)

    asyncio.run(scene())
