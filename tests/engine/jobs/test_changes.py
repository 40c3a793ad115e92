"""Changes of many jobs: all that have something in common, in however many steps, and nobody else's."""

from collections.abc import Callable, Iterator

import pytest

from rota.clock import ManualClock
from rota.engine.jobs import changes, queues
from rota.engine.jobs.changes import Changed
from rota.model.job import JobState
from rota.model.node import NodeType
from rota.store import open_store
from rota.store.contract.jobs import JobQuery
from tests.contract.building import NOW, states_of
from tests.installation import Installation

MANY = 7


@pytest.fixture
def installation(monkeypatch: pytest.MonkeyPatch) -> Iterator[Installation]:
    """Jobs are looked for and changed a few at a time."""
    monkeypatch.setattr(changes, "_PAGE", 2)
    monkeypatch.setattr(changes, "_STEP", 3)
    monkeypatch.setattr(queues, "_STEP", 3)
    store = open_store("sqlite://:memory:")
    made = Installation(store, ManualClock(NOW))
    made.define("report")
    made.define("other")
    yield made
    store.close()


def waiting(installation: Installation, job_type: str = "report") -> list[str]:
    return [installation.enqueue(job_type) for _ in range(MANY)]


def cancelled(installation: Installation, job_type: str = "report") -> list[str]:
    ids = waiting(installation, job_type)
    installation.store.cancel_jobs(ids, now=NOW)
    return ids


@pytest.mark.parametrize(
    ("verb", "make", "before", "after"),
    [
        ("cancel_all", waiting, JobState.QUEUED, JobState.CANCELLED),
        ("retry_all", cancelled, JobState.CANCELLED, JobState.QUEUED),
        ("delete_all", cancelled, JobState.CANCELLED, None),
    ],
)
def test_all_jobs_that_have_something_in_common_are_changed_and_no_others(
    installation: Installation,
    verb: str,
    make: Callable[[Installation, str], list[str]],
    before: JobState,
    after: JobState | None,
) -> None:
    meant, others = make(installation, "report"), make(installation, "other")
    query = JobQuery(job_type=installation.definitions.job_type("report").uuid)

    counted = getattr(installation.engine.jobs, verb)(query, dry_run=True)
    changed = getattr(installation.engine.jobs, verb)(query, dry_run=False)

    assert [counted, changed] == [Changed(MANY, 0, True), Changed(MANY, MANY, True)]
    assert states_of(installation.store, meant) == [after] * MANY
    assert states_of(installation.store, others) == [before] * MANY


@pytest.mark.parametrize(
    ("verb", "states"),
    [
        ("cancel_all", {JobState.CANCELLED, JobState.FAILED}),
        ("retry_all", {JobState.QUEUED, JobState.SUCCEEDED}),
        ("delete_all", {JobState.QUEUED, JobState.RUNNING}),
    ],
)
def test_where_only_such_jobs_are_meant_that_cannot_be_changed_so_no_other_is(
    installation: Installation, verb: str, states: set[JobState]
) -> None:
    live, ended = waiting(installation), cancelled(installation, "other")

    changed = getattr(installation.engine.jobs, verb)(JobQuery(states=frozenset(states)), dry_run=False)

    assert changed == Changed(0, 0, True)
    assert states_of(installation.store, live) == [JobState.QUEUED] * MANY
    assert states_of(installation.store, ended) == [JobState.CANCELLED] * MANY


@pytest.mark.parametrize("limit", [2, MANY - 1, MANY, MANY + 1])
def test_a_limit_is_kept_to_the_job_and_it_is_told_whether_there_were_more(
    installation: Installation, limit: int
) -> None:
    waiting(installation)

    changed = installation.engine.jobs.cancel_all(JobQuery(), dry_run=False, limit=limit)

    done = min(limit, MANY)
    assert changed == Changed(done, done, limit >= MANY)
    assert installation.store.count_jobs(installation.queue)[JobState.CANCELLED] == done


def test_of_many_jobs_that_are_changed_together_the_audit_log_lists_the_first_and_tells_the_number(
    installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changes, "_MOST_TOLD", 2)
    ids = waiting(installation)

    installation.engine.jobs.cancel_each(ids)

    entry = installation.store.list_audit(limit=1)[0]
    assert (entry.name, entry.after) == (f"{MANY} jobs", {"jobs": MANY, "first": ids[:2]})


def test_the_audit_log_lists_only_those_jobs_that_were_changed(installation: Installation) -> None:
    ended, live = cancelled(installation), waiting(installation)

    installation.engine.jobs.cancel_each([*ended, live[0]])
    one = installation.store.list_audit(limit=1)[0]
    installation.engine.jobs.cancel_each(live)
    others = installation.store.list_audit(limit=1)[0]

    assert (one.kind, one.name, one.is_done) == ("job", live[0], True)
    assert (others.kind, others.after) == ("jobs", {"jobs": MANY - 1, "first": live[1:]})


def test_a_queue_is_emptied_to_its_last_job_and_others_keep_theirs(installation: Installation) -> None:
    installation.definitions.define_node_type(NodeType(uuid=installation.new_id(), name="big"))
    elsewhere = [installation.enqueue(node_type="big") for _ in range(MANY)]
    ids = waiting(installation) + cancelled(installation)

    installation.engine.queues.empty("default")

    assert states_of(installation.store, ids) == [None] * 2 * MANY
    assert states_of(installation.store, elsewhere) == [JobState.QUEUED] * MANY
