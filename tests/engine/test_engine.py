"""The engine as a whole: what making one costs, and whose clock it goes by."""

import time

import pytest

from rota.clock import ManualClock, NodeClock
from rota.engine.engine import Engine
from rota.engine.jobs.intake import JobRequest
from rota.engine.liveness.presence import Presence
from rota.engine.node.node import Node
from rota.engine.node.options import NodeOptions
from rota.model.job import JobState
from rota.store import Store
from rota.testing import Faults
from tests.installation import Installation


def test_making_an_engine_and_a_node_asks_the_store_nothing(store: Store) -> None:
    faults = Faults(store)
    clock = NodeClock(faults.store.now)

    engine = Engine(faults.store, clock)
    Node(engine, clock, NodeOptions(), dialects=(), presence=Presence(None))

    assert faults.calls == []


def test_an_engine_that_was_opened_goes_by_the_stores_clock(store: Store) -> None:
    faults = Faults(store)
    ahead = ManualClock(store.now() + 3_600_000)
    faults.__dict__["now"] = ahead.now

    engine = Engine.open(faults.store)

    assert 0 <= engine.clock.now() - ahead.now() < 60_000


STEP_NS = 300 * 1_000_000_000


def step_wall_clock(monkeypatch: pytest.MonkeyPatch, step_ns: int) -> None:
    """Set the machine's clock, as this process reads it."""
    real = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: real() + step_ns)


def test_a_program_whose_wall_clock_is_set_back_makes_no_job_due_early(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    job_type, engine = Installation(store).define(), Engine.open(store)

    step_wall_clock(monkeypatch, -STEP_NS)
    (delayed,) = engine.intake.enqueue([JobRequest(job_type=job_type, delay_ms=240_000)])
    monkeypatch.undo()

    (job,) = store.find_jobs([delayed.job_id])
    assert job is not None
    assert job.spec.run_at is not None
    assert job.spec.run_at > store.now()


def test_a_program_whose_wall_clock_is_set_ahead_ends_no_job_of_others(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    job_type, engine, other = Installation(store).define(), Engine.open(store), Engine.open(store)
    request = JobRequest(job_type=job_type, unique_key="k", expires_ms=240_000)
    (waiting,) = other.intake.enqueue([request])

    step_wall_clock(monkeypatch, STEP_NS)
    (answer,) = engine.intake.enqueue([request])
    monkeypatch.undo()

    (job,) = store.find_jobs([waiting.job_id])
    assert job is not None
    assert (answer.job_id, job.state) == (waiting.job_id, JobState.QUEUED)
