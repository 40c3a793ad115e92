"""A store that fails on demand: when, how often, and that everything else happens in the real one."""

import pytest

from rota.errors import JobFailed, NotFound, StoreUnavailable
from rota.model.job import JobState
from rota.model.schedules.request import ScheduleRequest
from rota.testing import Faults, Installation
from rota.testing.faults import away
from tests.testing.shop import app, double, fail, stumble, work


def test_faults_happen_once_each_and_in_order(rota_faults: Faults) -> None:
    happened: list[str] = []
    rota_faults.before("list_nodes", lambda: happened.append("first"), away)
    rota_faults.before("list_nodes", lambda: happened.append("third"))

    for number in range(4):
        if number == 1:
            with pytest.raises(StoreUnavailable):
                rota_faults.store.list_nodes(since=0)
        else:
            assert rota_faults.store.list_nodes(since=0) == []

    assert happened == ["first", "third"]
    assert rota_faults.calls[-4:] == ["list_nodes"] * 4
    assert not rota_faults.awaits("list_nodes")


def test_a_fault_afterwards_loses_only_the_answer(rota_installation: Installation, rota_faults: Faults) -> None:
    rota_installation.use(app)
    app.declare()
    rota_faults.after("enqueue_jobs", away)
    assert (rota_faults.awaits("enqueue_jobs"), rota_faults.awaits("list_nodes")) == (True, False)

    with pytest.raises(StoreUnavailable):
        work.enqueue()

    assert not rota_faults.awaits("enqueue_jobs")
    assert len(rota_installation.drain()) == 1


def test_a_store_that_is_cut_off_lets_nothing_through_until_it_is_connected_again(
    rota_installation: Installation, rota_faults: Faults
) -> None:
    line = rota_faults.store.lifeline(timeout_s=60)

    rota_faults.cut_off()

    with pytest.raises(StoreUnavailable, match="cut off"):
        rota_faults.store.now()
    with pytest.raises(StoreUnavailable, match="cut off"):
        line.renew_claims("queue", "node", {})
    assert rota_faults.real.now() > 0
    rota_faults.reconnect()
    assert rota_faults.store.now() > 0
    line.renew_claims("queue", "node", {})
    line.close()


def test_a_line_has_the_faults_of_its_store(rota_faults: Faults) -> None:
    line = rota_faults.store.lifeline(timeout_s=60)
    rota_faults.before("renew_claims", away)

    with pytest.raises(StoreUnavailable):
        line.renew_claims("queue", "node", {})

    line.renew_claims("queue", "node", {})
    assert rota_faults.calls[-3:] == ["lifeline", "renew_claims", "renew_claims"]
    line.close()


def test_an_installation_that_is_cut_off_is_closed_all_the_same() -> None:
    with Installation() as installation:
        installation.faults.cut_off()

    assert installation.faults.calls[-1] == "close"


def test_a_job_that_fails_while_time_passes_fails_the_test_unless_it_may(rota_installation: Installation) -> None:
    rota_installation.use(app)
    begun = rota_installation.clock.now()
    failing = [
        fail.options(delay="1h").enqueue(),
        fail.options(delay="2h").enqueue(),
        fail.options(delay="3h").enqueue(),
    ]

    with pytest.raises(JobFailed):
        rota_installation.advance("1h")
    ended = rota_installation.advance("2h", raises=False)

    assert [(one.id, one.state) for one in ended] == [(one.id, JobState.FAILED) for one in failing[1:]]
    assert [(one.ended_at or 0) - begun for one in ended] == [2 * 3_600_000, 3 * 3_600_000]


def test_time_goes_exactly_as_far_as_the_test_says(rota_installation: Installation) -> None:
    rota_installation.use(app)
    begun, job = rota_installation.clock.now(), double.options(delay="1h").enqueue(1)

    early = rota_installation.advance(3599.999)

    assert (early, rota_installation.clock.now()) == ([], begun + 3_599_999)
    assert [one.id for one in rota_installation.advance("1ms")] == [job.id]
    assert job.job.ended_at == begun + 3_600_000


def test_a_job_is_lost_in_the_queue_that_is_named(rota_installation: Installation) -> None:
    rota_installation.use(app)
    job = stumble.options(queue="mails").enqueue()
    with pytest.raises(NotFound, match="nothing waits in the queue 'default'"):
        rota_installation.lose_job()

    lost = rota_installation.lose_job("mails")

    assert (lost.id, lost.state) == (job.id, JobState.RUNNING)


def test_everything_that_is_due_is_found_although_there_are_many(
    rota_installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rota.testing.installation._PAGE", 2)
    rota_installation.use(app)
    app.declare()
    for number in range(1, 6):
        request = ScheduleRequest(
            name=f"in {number} hours", job_type=double.name, job_arguments={"number": number}, delay=number * 3_600_000
        )
        rota_installation.engine.schedules.create(request)
    begun = rota_installation.clock.now()

    ended = rota_installation.advance("6h")

    assert [((one.ended_at or 0) - begun, one.results) for one in ended] == [
        (number * 3_600_000, 2 * number) for number in range(1, 6)
    ]
