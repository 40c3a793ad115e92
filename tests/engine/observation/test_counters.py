"""What a node did since it began, as figures."""

import asyncio

import pytest

from rota.engine.observation.counters import (
    CLAIMED,
    CLAIMS_TAKEN,
    ENDED,
    FAULTS,
    FIGURES,
    JUDGED,
    RETURNED,
    STORE_FAILURES,
    TICKS,
    Counters,
)
from rota.engine.observation.happenings import (
    ClaimsTaken,
    DutyFailed,
    EventsJudged,
    Fault,
    StoreFailed,
    TicksDecided,
)
from rota.engine.observation.observers import Observers
from rota.errors import StoreUnavailable
from rota.model.events.evaluation import Evaluation, Verdict
from rota.model.events.event import EventRef
from rota.model.runs.retry import RetryPolicy
from rota.model.schedules.schedule import Tick, TickStatus
from rota.store import Store
from tests.engine.job_functions import new_stage
from tests.engine.working import until, working
from tests.installation import Installation

# What is told does not depend on the store.
pytestmark = pytest.mark.stores("sqlite-file")


def test_all_figures_are_there_from_the_beginning() -> None:
    counters = Counters(Observers())

    assert all(set(counters.read(figure).values()) == {0} for figure in FIGURES)
    assert set(counters.read(ENDED)) == {"succeeded", "failed", "cancelled"}
    assert set(counters.read(TICKS)) == {"fired", "skipped", "missed"}


def test_jobs_are_counted_by_what_became_of_them(store: Store, installation: Installation) -> None:
    async def scene() -> None:
        new_stage()
        observers = Observers()
        counters = Counters(observers)
        installation.define_python("note")
        installation.define_python("fail")
        installation.define_python("fail_until", retry=RetryPolicy(attempts=3, delay_ms=1))
        async with working(store, observers=observers):
            jobs = [installation.enqueue("note", {"text": "x"}) for _ in range(4)]
            jobs += [installation.enqueue("fail"), installation.enqueue("fail_until", {"attempt": 3})]
            await installation.ended(*jobs)
            await until(lambda: sum(counters.read(ENDED).values()) == 6, "all to be counted")

        assert counters.read(CLAIMED) == {"": 8}
        assert counters.read(RETURNED) == {"": 2}
        assert counters.read(ENDED) == {"succeeded": 5, "failed": 1, "cancelled": 0}

    asyncio.run(scene())


def test_the_rest_is_counted_as_it_is_told() -> None:
    observers = Observers()
    counters = Counters(observers)
    fired = Tick(nominal=1, status=TickStatus.FIRED, decided_at=1)
    missed = Tick(nominal=2, status=TickStatus.MISSED, decided_at=9, until=8, count=7)
    event = EventRef(id="e", resource="r", time=1, received_at=1)
    waiting = Evaluation(event=event, type="FILE", verdict=Verdict.WAITING, at=1, matrix=())

    observers.tell(TicksDecided("nightly", "queue", [fired, missed]))
    observers.tell(EventsJudged("configuration", [waiting, waiting], {}))
    observers.tell(ClaimsTaken("queue", "node", 3))
    observers.tell(StoreFailed(StoreUnavailable("away")))
    observers.tell(DutyFailed("Ticker", KeyError("x")))
    observers.tell(Fault("worker", "it broke", KeyError("x")))

    assert counters.read(TICKS) == {"fired": 1, "skipped": 0, "missed": 7}
    assert counters.read(JUDGED)["waiting"] == 2
    assert counters.read(CLAIMS_TAKEN) == {"": 3}
    assert counters.read(STORE_FAILURES) == {"": 1}
    assert counters.read(FAULTS) == {"": 2}
