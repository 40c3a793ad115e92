"""Jobs in a series are found by the time of their making, whatever became of them, until they are forgotten."""

from rota.model.job import Job, JobState
from rota.store import Store
from tests.contract.building import NOW, claim_one, enqueue, finish, new_queue, spec, succeed

SERIES = "source with spaces/and:signs"


def ids(jobs: list[Job]) -> list[str]:
    return [job.id for job in jobs]


def test_a_series_has_its_jobs_by_the_time_of_their_making(store: Store) -> None:
    queue = new_queue()
    made = [
        enqueue(store, spec(queue, series=(SERIES, f"own {number % 2}"), now=NOW + number))[0] for number in range(4)
    ]
    enqueue(store, spec(queue), spec(queue, series=(SERIES + "!",)), spec(queue, series=("source",)))

    assert ids(store.list_series(queue, SERIES, limit=10)) == made
    assert ids(store.list_series(queue, SERIES, limit=3, latest_first=True)) == made[:0:-1]
    assert ids(store.list_series(queue, SERIES, since=NOW + 1, until=NOW + 3, limit=10)) == made[1:3]
    assert ids(store.list_series(queue, SERIES, since=NOW + 1, until=NOW + 3, limit=1, latest_first=True)) == [made[2]]
    assert ids(store.list_series(queue, "own 1", limit=10)) == made[1::2]
    first, second = store.list_series(queue, SERIES, limit=2)
    assert ids(store.list_series(queue, SERIES, after=second, limit=10)) == made[2:]
    assert ids(store.list_series(queue, SERIES, after=second, limit=10, latest_first=True)) == [first.id]
    assert ids(store.list_series(new_queue(), SERIES, limit=10)) == []
    assert [store.count_series(queue, name) for name in (SERIES, "own 0", "none")] == [4, 2, 0]


def test_a_job_stays_in_its_series_whatever_becomes_of_it_until_it_is_forgotten(store: Store) -> None:
    queue = new_queue()
    waiting, ended = enqueue(store, spec(queue, series=(SERIES,), now=NOW + 900), spec(queue, series=(SERIES,)))
    finish(store, succeed(claim_one(store, queue)))

    assert [(job.id, job.state) for job in store.list_series(queue, SERIES, limit=10)] == [
        (ended, JobState.SUCCEEDED),
        (waiting, JobState.QUEUED),
    ]
    assert store.delete_jobs([ended]) == [True]
    assert ids(store.list_series(queue, SERIES, limit=10)) == [waiting]
    assert store.count_series(queue, SERIES) == 1


def test_trimming_history_takes_jobs_out_of_their_series(store: Store) -> None:
    queue = new_queue()
    enqueue(store, spec(queue, series=(SERIES,)))
    finish(store, succeed(claim_one(store, queue)))

    assert store.trim_history(queue, ended_before=NOW + 1_000_000, keep=10, limit=10) == 1
    assert store.count_series(queue, SERIES) == 0


def test_a_job_that_is_handed_in_again_is_in_its_series_once(store: Store) -> None:
    queue = new_queue()
    one = spec(queue, series=(SERIES,), unique_key="u")
    enqueue(store, one)
    enqueue(store, one)
    enqueue(store, spec(queue, series=(SERIES,), unique_key="u"))

    assert ids(store.list_series(queue, SERIES, limit=10)) == [one.id]


def test_of_jobs_that_were_made_at_one_instant_none_is_missed_or_told_twice_from_page_to_page(store: Store) -> None:
    queue = new_queue()
    made = sorted(enqueue(store, *(spec(queue, series=(SERIES,)) for _ in range(5))))

    for latest_first in (False, True):
        found: list[Job] = []
        while some := store.list_series(
            queue, SERIES, limit=2, after=found[-1] if found else None, latest_first=latest_first
        ):
            found += some
            assert len(found) <= len(made)
        assert ids(found) == made[:: -1 if latest_first else 1]


def test_a_series_of_the_same_name_in_another_queue_is_another_one(store: Store) -> None:
    queue, other = new_queue(), new_queue()
    (mine,) = enqueue(store, spec(queue, series=(SERIES,)))
    theirs = enqueue(store, *(spec(other, series=(SERIES,), now=NOW + number) for number in range(2)))

    assert [store.count_series(one, SERIES) for one in (queue, other)] == [1, 2]
    assert [ids(store.list_series(one, SERIES, limit=9)) for one in (queue, other)] == [[mine], theirs]
    assert ids(store.list_series(queue, SERIES, limit=9, latest_first=True)) == [mine]
