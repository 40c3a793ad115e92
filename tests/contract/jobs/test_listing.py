"""Reading jobs: found by id, listed by condition, in order, each on exactly one page."""

import base64

import msgspec
import pytest

from rota.errors import InvalidInput
from rota.model.ids import new_id
from rota.model.job import FINAL_STATES, Cause, JobState
from rota.store import Store
from rota.store.contract.jobs import JobQuery
from tests.contract.building import (
    NOW,
    claim,
    claim_one,
    ended_job,
    enqueue,
    fail_and_retry,
    finish,
    interrupt,
    listed,
    new_node,
    new_queue,
    pages,
    spec,
    succeed,
)

LIMITS = (1, 2, 3, 7, 1_000)


def populate(store: Store, queue: str, *, each: int = 4) -> dict[JobState, list[str]]:
    """A queue with some jobs in every state, some of them behind a lock."""
    ids: dict[JobState, list[str]] = {}
    for state in FINAL_STATES:
        ids[state] = [ended_job(store, queue, state, now=NOW + number // 2) for number in range(each)]
    ids[JobState.RUNNING] = enqueue(store, spec(queue, lock_key="l"), *[spec(queue) for _ in range(each - 1)])
    claim(store, queue)
    ids[JobState.QUEUED] = enqueue(store, *[spec(queue, lock_key="l") for _ in range(each)])
    claim(store, queue)
    ids[JobState.QUEUED] += enqueue(store, *[spec(queue, priority=number % 2) for number in range(each)])
    ids[JobState.DELAYED] = enqueue(store, *[spec(queue, run_at=NOW + 60_000 + number // 2) for number in range(each)])
    return ids


def test_jobs_are_found_one_by_one_in_order(store: Store) -> None:
    first, second = enqueue(store, spec(new_queue()), spec(new_queue()))
    unknown = new_id(NOW)

    found = store.find_jobs([second, unknown, first, second])

    assert [job.id if job else None for job in found] == [second, None, first, second]


def test_of_one_queue_only_its_own_jobs_are_found(store: Store) -> None:
    queue = new_queue()
    first, elsewhere, second = enqueue(store, spec(queue), spec(new_queue()), spec(queue))
    claim(store, queue, limit=1)

    found = store.find_jobs([second, elsewhere, new_id(NOW), first], queue=queue)

    assert found == [*store.find_jobs([second]), None, None, *store.find_jobs([first])]
    assert store.find_jobs([first, second], queue=new_queue()) == [None, None]


def test_finding_nothing_answers_nothing(store: Store) -> None:
    assert store.find_jobs([]) == []
    assert store.find_jobs([], queue=new_queue()) == []


def test_an_empty_store_lists_nothing(store: Store) -> None:
    assert listed(store, JobQuery()) == []
    assert listed(store, JobQuery(queue=new_queue(), states=frozenset({JobState.FAILED}))) == []


@pytest.mark.parametrize("limit", LIMITS)
def test_every_job_is_listed_exactly_once(store: Store, limit: int) -> None:
    queue = new_queue()
    everything = sorted(job_id for ids in populate(store, queue).values() for job_id in ids)

    assert sorted(listed(store, JobQuery(queue=queue), limit=limit)) == everything
    assert sorted(listed(store, JobQuery(), limit=limit)) == everything


@pytest.mark.parametrize("limit", LIMITS)
def test_every_job_of_every_queue_is_listed_exactly_once(store: Store, limit: int) -> None:
    queues = [new_queue() for _ in range(3)]
    everything = [job_id for queue in queues for ids in populate(store, queue, each=2).values() for job_id in ids]

    assert sorted(listed(store, JobQuery(), limit=limit)) == sorted(everything)


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("state", JobState)
def test_every_job_of_a_state_is_listed_exactly_once(store: Store, state: JobState, limit: int) -> None:
    queue = new_queue()
    ids = populate(store, queue)
    populate(store, new_queue(), each=1)

    found = listed(store, JobQuery(queue=queue, states=frozenset({state})), limit=limit)

    assert sorted(found) == sorted(ids[state])


def test_several_states_are_listed_together(store: Store) -> None:
    queue = new_queue()
    ids = populate(store, queue)
    wanted = frozenset({JobState.FAILED, JobState.DELAYED, JobState.RUNNING})

    found = listed(store, JobQuery(queue=queue, states=wanted), limit=5)

    assert sorted(found) == sorted(job_id for state in wanted for job_id in ids[state])


def test_listed_jobs_are_the_same_as_found_ones(store: Store) -> None:
    queue = new_queue()
    populate(store, queue)

    jobs = [job for page in pages(store, JobQuery(queue=queue)) for job in page.jobs]

    assert jobs == store.find_jobs([job.id for job in jobs])


def test_jobs_that_ended_together_are_each_listed_once(store: Store) -> None:
    queue = new_queue()
    ids = enqueue(store, *[spec(queue) for _ in range(25)])
    finish(store, *[succeed(each) for each in claim(store, queue)])

    found = listed(store, JobQuery(queue=queue, states=frozenset({JobState.SUCCEEDED})), limit=4)

    assert sorted(found) == sorted(ids)


def test_the_states_come_in_order(store: Store) -> None:
    queue = new_queue()
    populate(store, queue)

    states = [job.state for page in pages(store, JobQuery(queue=queue), limit=3) for job in page.jobs]

    live = [state for state in states if not state.is_final]
    order = [JobState.DELAYED, JobState.QUEUED, JobState.RUNNING]
    assert live == sorted(live, key=order.index)
    assert all(state.is_final for state in states[len(live) :])


def test_delayed_jobs_are_listed_by_due_time(store: Store) -> None:
    queue = new_queue()
    times = [5_000, 1_000, 3_000, 2_000, 4_000]
    jobs = {time: spec(queue, run_at=NOW + time) for time in times}
    enqueue(store, *jobs.values())

    found = listed(store, JobQuery(queue=queue), limit=2)

    assert found == [jobs[time].id for time in sorted(times)]


def test_queued_jobs_are_listed_in_the_order_in_which_they_will_run(store: Store) -> None:
    queue = new_queue()
    jobs = [spec(queue, priority=priority) for priority in (0, 2, -1, 1, 2, 0)]
    enqueue(store, *jobs)

    found = listed(store, JobQuery(queue=queue), limit=2)

    assert found == [each.spec.id for each in claim(store, queue)]


def test_queued_jobs_that_wait_for_a_lock_come_behind_the_others(store: Store) -> None:
    queue = new_queue()
    _holder, first, second = enqueue(store, *[spec(queue, lock_key="l") for _ in range(3)])
    claim(store, queue)
    (ready,) = enqueue(store, spec(queue, now=NOW + 1_000), now=NOW + 1_000)

    found = listed(store, JobQuery(queue=queue, states=frozenset({JobState.QUEUED})), limit=1)

    assert found == [ready, first, second]


def test_running_jobs_are_listed_by_the_time_of_their_claim(store: Store) -> None:
    queue = new_queue()
    low, middle, high = enqueue(store, *[spec(queue, priority=priority) for priority in (0, 1, 2)])
    for step in range(3):
        claim_one(store, queue, now=NOW + 1_000 * step)

    found = listed(store, JobQuery(queue=queue), limit=2)

    assert found == [high, middle, low]


def test_ended_jobs_are_listed_with_the_latest_end_first(store: Store) -> None:
    queue = new_queue()
    ids = enqueue(store, *[spec(queue) for _ in range(5)])
    claims = claim(store, queue)
    for place, number in enumerate((3, 0, 4, 1, 2)):
        finish(store, succeed(claims[number], NOW + place), now=NOW + place)

    found = listed(store, JobQuery(queue=queue), limit=2)

    assert found == [ids[number] for number in (2, 1, 4, 0, 3)]


def test_ended_jobs_of_all_kinds_are_listed_in_one_order(store: Store) -> None:
    queue = new_queue()
    kinds = [JobState.SUCCEEDED, JobState.CANCELLED, JobState.FAILED, JobState.SUCCEEDED, JobState.FAILED]
    ids = [ended_job(store, queue, state, now=NOW + number) for number, state in enumerate(kinds)]

    assert listed(store, JobQuery(queue=queue), limit=2) == ids[::-1]


def test_jobs_are_listed_by_job_type(store: Store) -> None:
    queue, wanted = new_queue(), new_id(NOW)
    populate(store, queue)
    mine = enqueue(store, *[spec(queue, job_type=wanted, run_at=run_at) for run_at in (None, NOW + 60_000)])

    assert sorted(listed(store, JobQuery(job_type=wanted), limit=2)) == sorted(mine)
    assert listed(store, JobQuery(job_type=new_id(NOW))) == []


def test_jobs_are_listed_by_the_node_that_runs_or_ran_them(store: Store) -> None:
    queue, node = new_queue(), new_node()
    populate(store, queue)
    enqueue(store, *[spec(queue, priority=9) for _ in range(2)])
    ended, running = claim(store, queue, node=node, limit=2)
    finish(store, succeed(ended))

    found = listed(store, JobQuery(node=node), limit=3)

    assert found == [running.spec.id, ended.spec.id]


def test_jobs_are_listed_by_the_time_of_their_enqueueing(store: Store) -> None:
    queue = new_queue()
    at = {time: spec(queue, now=NOW + time) for time in (0, 10, 20, 30)}
    for time, job in at.items():
        enqueue(store, job, now=NOW + time)
    finish(store, *[succeed(each, NOW + 99) for each in claim(store, queue, limit=2, now=NOW + 99)], now=NOW + 99)

    def found(since: int | None, until: int | None) -> set[str]:
        return set(listed(store, JobQuery(queue=queue, since=since, until=until), limit=2))

    assert found(NOW + 10, None) == {at[10].id, at[20].id, at[30].id}
    assert found(None, NOW + 20) == {at[0].id, at[10].id}
    assert found(NOW + 10, NOW + 30) == {at[10].id, at[20].id}
    assert found(NOW + 31, None) == set()
    assert found(None, NOW) == set()


def test_all_conditions_must_hold(store: Store) -> None:
    queue, node, wanted = new_queue(), new_node(), new_id(NOW)
    hit = spec(queue, job_type=wanted)
    others = [spec(queue), spec(queue, job_type=wanted, now=NOW + 50)]
    enqueue(store, hit, *others)
    claims = claim(store, queue, node=node)
    finish(store, *[succeed(each) for each in claims])
    query = JobQuery(
        queue=queue, states=frozenset({JobState.SUCCEEDED}), job_type=wanted, node=node, since=NOW, until=NOW + 50
    )

    assert listed(store, query, limit=1) == [hit.id]


def test_a_job_that_returned_is_listed_once_where_it_is_now(store: Store) -> None:
    queue = new_queue()
    enqueue(store, spec(queue), spec(queue))
    first, second = claim(store, queue)
    finish(store, fail_and_retry(first), interrupt(second))

    assert listed(store, JobQuery(queue=queue), limit=1) == [first.spec.id, second.spec.id]


def test_a_retried_job_is_no_longer_listed_as_ended(store: Store) -> None:
    queue = new_queue()
    job_id = ended_job(store, queue, JobState.FAILED)
    store.retry_jobs([job_id], now=NOW)

    assert listed(store, JobQuery(queue=queue, states=FINAL_STATES)) == []
    assert listed(store, JobQuery(queue=queue)) == [job_id]


def test_jobs_that_end_meanwhile_do_not_shift_the_pages(store: Store) -> None:
    queue = new_queue()
    ids = [ended_job(store, queue, JobState.SUCCEEDED, now=NOW + number) for number in range(10)]
    query = JobQuery(queue=queue, states=frozenset({JobState.SUCCEEDED}))

    seen: list[str] = []
    for number, page in enumerate(pages(store, query, limit=3)):
        seen.extend(job.id for job in page.jobs if job.id in ids)
        ended_job(store, queue, JobState.SUCCEEDED, now=NOW + 1_000 + number)

    assert seen == ids[::-1]


def test_jobs_are_listed_by_the_schedule_that_made_them(store: Store) -> None:
    queue, wanted = new_queue(), new_id(NOW)
    mine, _other, _event = enqueue(
        store,
        spec(queue, cause=Cause("schedule", wanted)),
        spec(queue, cause=Cause("schedule", new_id(NOW))),
        spec(queue, cause=Cause("event", wanted)),
    )
    enqueue(store, spec(queue))

    assert listed(store, JobQuery(schedule=wanted)) == [mine]


def test_jobs_are_found_by_text_in_what_they_were_given_and_what_came_of_them(store: Store) -> None:
    queue = new_queue()
    by_arguments, by_key, by_result = (
        spec(queue, arguments={"to": "Ada@example.org"}, priority=3),
        spec(queue, unique_key="invoice-77", priority=2),
        spec(queue, priority=1),
    )
    enqueue(store, by_arguments, by_key, by_result)
    first, _second, third = claim(store, queue)
    finish(store, succeed(first), succeed(third, results={"said": "Grüße"}))

    def found(text: str) -> list[str]:
        return listed(store, JobQuery(search=text), limit=1)

    assert found("ada@EXAMPLE") == [by_arguments.id]
    assert found("Invoice-77") == [by_key.id]
    assert found("grüße") == [by_result.id]
    assert found(by_result.id[-12:]) == [by_result.id]
    assert found("nowhere") == []


def test_a_page_of_which_little_is_wanted_ends_before_all_was_read(store: Store) -> None:
    queue, seldom = new_queue(), new_id(NOW)
    enqueue(store, *(spec(queue) for _ in range(45)))
    (wanted,) = enqueue(store, spec(queue, job_type=seldom))
    query = JobQuery(queue=queue, job_type=seldom)

    found = [[job.id for job in page.jobs] for page in pages(store, query, limit=2)]

    assert found == [[], [], [wanted]]


@pytest.mark.parametrize("section", [-1, 6])
def test_a_cursor_of_a_part_that_no_listing_has_is_refused(store: Store, section: int) -> None:
    enqueue(store, *(spec(new_queue()) for _ in range(2)))
    cursor = base64.urlsafe_b64encode(msgspec.json.encode([section, [0, ""]])).decode()

    with pytest.raises(InvalidInput, match="cursor"):
        store.list_jobs(JobQuery(), limit=1, cursor=cursor)
