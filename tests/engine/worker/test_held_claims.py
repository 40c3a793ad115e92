"""What a worker does about runs that promise to be the only ones, when its node is not heard."""

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from msgspec import structs

from rota.clock import ManualClock
from rota.engine.observation.observers import Observers
from rota.engine.worker.attempt import Attempt
from rota.engine.worker.held_claims import HeldClaims
from rota.store.contract.claims import Renewal
from tests.engine.worker.test_hands import Kept, new_attempt
from tests.engine.working import until

DEAD_S = 1.0
LET_GO_MS = 750
HEARD = Renewal([], [])


class CountingClock(ManualClock):
    """Knows how often the event loop asked it."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = 0

    def monotonic(self) -> float:
        self.asked += threading.current_thread() is threading.main_thread()
        return super().monotonic()


class Holding:
    """A worker's claims, and what came of them."""

    def __init__(self) -> None:
        self.kept, self.clock = Kept(), CountingClock()
        self.claims = HeldClaims(
            self.kept.hands, node="node", clock=self.clock, dead_after_s=DEAD_S, observers=Observers()
        )

    def take(self, *, claimed_at: float = 0.0, is_locked: bool = True) -> Attempt:
        attempt = new_attempt(claimed_at=claimed_at)
        if is_locked:
            attempt.claim = structs.replace(attempt.claim, spec=structs.replace(attempt.claim.spec, lock_key="lock"))
        self.kept.hands.take(attempt)
        return attempt

    @property
    def given_up(self) -> list[Attempt]:
        return [attempt for attempt, _ in self.kept.ends]

    async def look(self) -> None:
        """Wait until it has looked at the time as it is now, and done what follows."""
        before = self.clock.asked
        await until(lambda: self.clock.asked > before, "a look")


@asynccontextmanager
async def holding() -> AsyncIterator[Holding]:
    """Claims that are watched."""
    it = Holding()
    it.claims.watch()
    yield it
    it.claims.close()


def test_a_node_that_was_not_heard_lets_go_before_others_may_take_over() -> None:
    async def scene() -> None:
        async with holding() as it:
            locked, plain = it.take(), it.take(is_locked=False)

            it.clock.advance(LET_GO_MS - 1)
            await it.look()
            assert it.given_up == []

            it.clock.advance(1)
            await it.look()
            assert it.given_up == [locked]
            assert list(it.kept.hands) == [plain]

    asyncio.run(scene())


def test_a_node_counts_as_heard_from_when_it_spoke_and_not_from_when_it_was_answered() -> None:
    async def scene() -> None:
        async with holding() as it:
            locked = it.take()
            it.clock.advance(LET_GO_MS - 50)
            it.claims.renewed(it.claims.held(), HEARD, at=0.1)

            it.clock.advance(149)
            await it.look()
            assert it.given_up == []

            it.clock.advance(1)
            await it.look()
            assert it.given_up == [locked]

    asyncio.run(scene())


def test_whoever_wakes_up_lets_go_though_an_answer_from_before_is_waiting_for_him() -> None:
    async def scene() -> None:
        async with holding() as it:
            locked = it.take()
            it.clock.advance(round(10 * DEAD_S * 1000))
            it.claims.renewed(it.claims.held(), HEARD, at=0.0)

            await it.look()
            assert it.given_up == [locked]

    asyncio.run(scene())


def test_a_loop_that_was_blocked_keeps_what_was_renewed_meanwhile_unless_it_was_lost() -> None:
    """The heart tells it from a thread, and the loop has not come to what follows."""

    async def scene() -> None:
        it = Holding()
        kept, lost = it.take(), it.take()
        it.clock.advance(round(10 * DEAD_S * 1000))

        it.claims.renewed(it.claims.held(), Renewal([], [lost.claim.spec.id]), at=it.clock.monotonic())

        assert (it.claims.is_old(kept), it.claims.is_old(lost)) == (False, True)

    asyncio.run(scene())


def test_a_node_that_is_heard_again_may_have_to_let_go_again() -> None:
    async def scene() -> None:
        async with holding() as it:
            first = it.take()
            it.clock.advance(LET_GO_MS)
            await it.look()
            it.claims.renewed(it.claims.held(), HEARD, at=it.clock.monotonic())
            second = it.take()
            await it.look()
            assert it.given_up == [first]

            it.clock.advance(LET_GO_MS)
            await it.look()
            assert it.given_up == [first, second]

    asyncio.run(scene())


def test_claims_that_came_late_are_in_haste_until_they_are_told() -> None:
    async def scene() -> list[bool]:
        it, seen = Holding(), []
        it.clock.advance(round(DEAD_S * 1000))
        for step in (
            lambda: it.claims.took(asked_at=DEAD_S * 3 / 4 + 0.01),
            lambda: it.claims.took(asked_at=DEAD_S * 3 / 4),
            it.claims.held,
        ):
            step()
            seen.append(it.claims.is_in_haste)
        return seen

    assert asyncio.run(scene()) == [False, True, False]
