"""One record that cannot be read stops nobody; fields that are not known make no record unreadable."""

from collections.abc import Callable

import msgspec
import pytest
from msgspec import structs

from rota.model.events.configuration import Configuration
from rota.model.ids import new_id
from rota.model.job import JobState
from rota.model.job_type import JobType
from rota.model.node import Node, NodeType
from rota.model.runs.outcome import refused
from rota.model.runs.retry import RetryPolicy
from rota.model.schedules.schedule import Schedule
from rota.model.triggers.catch_up import CatchUp
from rota.store import Store
from rota.store.contract.events import ConfigurationChange, ConfigurationEntry
from rota.store.contract.jobs import JobQuery
from rota.store.contract.schedules import ScheduleChange
from rota.store.records.unreadable import UNREADABLE
from rota.store.redis.keys import QueueKeys
from rota.store.redis.store import RedisStore
from rota.store.sqlite.nouns.queues.stats import count_up
from rota.store.sqlite.store import SqliteStore
from tests.contract.building import (
    LATER,
    NOW,
    beat,
    claim,
    claim_one,
    claims_of,
    counts,
    ended_job,
    enqueue,
    fail_and_retry,
    find,
    finish,
    listed,
    log_batch,
    messages_of,
    new_node,
    new_queue,
    settled,
    spec,
    succeed,
    token_of,
)
from tests.contract.events.configuring import await_ends, configuration, dependency, event, make_queue, verdicts
from tests.contract.events.configuring import put as put_configuration
from tests.contract.raw_records import change_records, with_unknown_fields
from tests.contract.schedules import scheduling

BROKEN = {
    "cut short": lambda record: record[: len(record) // 2],
    "not JSON": lambda record: b"\x00\xff not JSON",
    "empty": lambda record: b"",
    "another type": lambda record: b"[1, 2]",
    "without its fields": lambda record: b"{}",
    "fields of other types": lambda record: msgspec.json.encode({name: [7] for name in msgspec.json.decode(record)}),
    "too deep": lambda record: b"[" * 100_000,
}


@pytest.fixture(params=list(BROKEN))
def broken(request: pytest.FixtureRequest) -> Callable[[bytes], bytes]:
    return BROKEN[request.param]


def spoil(store: Store, kind: str, key: str, broken: Callable[[bytes], bytes], queue: str = "") -> None:
    change_records(store, kind, key, broken, queue=queue)


def unreadable(store: Store) -> set[str]:
    return {one.kind for one in store.unreadable_records()}


# -- unknown fields ------------------------------------------------------------------------------------------------


def test_a_job_with_unknown_fields_is_run_like_any(store: Store) -> None:
    queue = new_queue()
    job = structs.replace(spec(queue, arguments={"n": 1}), retry=RetryPolicy(attempts=3))
    enqueue(store, job)
    change_records(store, "spec", job.id, with_unknown_fields, queue=queue)

    claimed = claim_one(store, queue)
    assert claimed.spec == job
    store.append_logs([log_batch(claimed, "a line")])
    change_records(store, "log line", job.id, with_unknown_fields, queue=queue)
    finish(store, succeed(claimed, results={"of": "it"}))
    ended = find(store, job.id)
    change_records(store, "ending", job.id, with_unknown_fields, queue=queue)

    assert find(store, job.id) == ended
    assert messages_of(store, job.id) == ["a line"]
    assert store.unreadable_records() == []


@pytest.mark.stores("redis", "redis-cluster")  # only there a job has a mark
def test_a_mark_with_unknown_fields_is_a_mark(store: Store) -> None:
    queue = new_queue()
    job = spec(queue, lock_key="lock", unique_key="unique")
    enqueue(store, job)
    finish(store, fail_and_retry(claim_one(store, queue)))
    change_records(store, "mark", job.id, with_unknown_fields, queue=queue)

    again = claim_one(store, queue, now=LATER)

    assert (again.spec, again.attempts) == (job, 1)
    assert finish(store, succeed(again)) == frozenset()


def test_definitions_and_nodes_with_unknown_fields_are_read_like_any(store: Store) -> None:
    node_type = NodeType(uuid=new_id(NOW), name="slow", thread_count=2)
    job_type = JobType(uuid=new_id(NOW), name="report", executor="log", retry=RetryPolicy(attempts=2))
    node = Node(uuid=new_id(NOW), node_type=node_type.uuid, last_ping=NOW, roles=("worker",))
    store.put_node_types([node_type])
    store.put_job_types([job_type])
    beat(store, node)
    for kind, key in (("node type", node_type.uuid), ("job type", job_type.uuid), ("node", node.uuid)):
        change_records(store, kind, key, with_unknown_fields)

    assert store.list_node_types() == [node_type]
    assert store.list_job_types() == [job_type]
    assert store.list_nodes(since=0) == [node]
    assert store.unreadable_records() == []


def test_a_schedule_with_unknown_fields_fires_like_any(store: Store) -> None:
    queue = new_queue()
    one = scheduling.schedule(queue, catch_up=CatchUp(window_ms=1_000))
    entry = scheduling.put(store, one)
    for kind in ("schedule", "schedule state"):
        change_records(store, kind, one.uuid, with_unknown_fields, queue=queue)

    due = store.claim_due_schedules(queue, now=NOW, lease_ms=1, limit=10)
    assert due.entries == [entry]
    assert store.fire_schedules(queue, [scheduling.firing(entry, spec(queue))], now=NOW) == [True]
    ticks = store.list_ticks(one.uuid, limit=10)
    change_records(store, "tick", one.uuid, with_unknown_fields, queue=queue)

    assert store.list_ticks(one.uuid, limit=10) == ticks
    assert store.unreadable_records() == []


def test_a_configuration_with_unknown_fields_is_judged_like_any(store: Store) -> None:
    queue = new_queue()
    entry = put_configuration(store, configuration(queue))
    uuid = entry.configuration.uuid
    for kind in ("configuration", "configuration state"):
        change_records(store, kind, uuid, with_unknown_fields, queue=queue)

    assert store.load_configurations(queue, [uuid]) == [entry]
    assert store.apply_verdicts(queue, [verdicts(entry, event())], now=NOW)[0].done
    before = store.list_evaluations(uuid, limit=9), store.list_validations(uuid, limit=9)
    for kind in ("evaluation", "validation"):
        change_records(store, kind, uuid, with_unknown_fields, queue=queue)

    assert (store.list_evaluations(uuid, limit=9), store.list_validations(uuid, limit=9)) == before
    assert store.unreadable_records() == []


def test_an_event_with_unknown_fields_is_taken_from_the_outbox(store: Store) -> None:
    queue = make_queue(store)
    await_ends(store)
    enqueue(store, spec(queue), spec(queue))
    finish(store, *(succeed(one) for one in claim(store, queue)))
    events = store.read_outbox(queue, limit=10)
    change_records(store, "event", queue, with_unknown_fields, queue=queue)

    assert store.read_outbox(queue, limit=10) == events
    store.clear_outbox(queue, events[1:])  # behind one that stays
    assert store.read_outbox(queue, limit=10) == events[:1]
    store.clear_outbox(queue, events)
    assert store.read_outbox(queue, limit=10) == []


def test_a_change_keeps_the_fields_that_it_does_not_know(store: Store) -> None:
    queue = new_queue()
    node_type, job_type = NodeType(uuid=queue, name="slow"), JobType(uuid=new_id(NOW), name="report", executor="log")
    one, waiting = scheduling.schedule(queue), put_configuration(store, configuration(queue))
    store.put_node_types([node_type])
    store.put_job_types([job_type])
    entry = scheduling.put(store, one)
    places = {"node type": queue, "job type": job_type.uuid, "schedule": one.uuid}
    places["configuration"] = waiting.configuration.uuid
    for kind, key in places.items():
        change_records(store, kind, key, with_unknown_fields, queue=queue)

    store.put_node_types([structs.replace(node_type, thread_count=3)])
    store.put_job_types([structs.replace(job_type, timeout_ms=5)])
    paused, state = structs.replace(one, paused=True), structs.replace(entry.state, version=2)
    assert store.put_schedules([ScheduleChange(paused, state, 1)]) == [True]
    renamed = structs.replace(waiting.configuration, name="renamed")
    assert put_again(store, renamed, waiting) == [True]

    seen: dict[str, dict[str, object]] = {}

    def look(kind: str) -> Callable[[bytes], bytes]:
        def note(record: bytes) -> bytes:
            seen[kind] = msgspec.json.decode(record)
            return record

        return note

    for kind, key in places.items():
        change_records(store, kind, key, look(kind), queue=queue)
    assert all(fields["also"] == "new" for fields in seen.values())
    assert seen["node type"]["thread_count"] == 3
    assert seen["job type"]["timeout_ms"] == 5
    assert seen["schedule"]["paused"] is True
    assert seen["configuration"]["name"] == "renamed"


def put_again(store: Store, changed: Configuration, old: ConfigurationEntry) -> list[bool]:
    state = structs.replace(old.state, version=old.state.version + 1)
    return store.put_configurations([ConfigurationChange(changed, state, old.state.version)])


# -- jobs ----------------------------------------------------------------------------------------------------------


def test_a_claim_gives_a_broken_job_for_what_it_is_and_its_neighbours_as_they_are(
    store: Store, broken: Callable[[bytes], bytes]
) -> None:
    queue = new_queue()
    first, bad, last = spec(queue, arguments={"n": 1}), spec(queue), spec(queue, lock_key="lock")
    enqueue(store, first, bad, last)
    spoil(store, "spec", bad.id, broken, queue)

    claims = claim(store, queue)

    assert [one.spec.id for one in claims] == [first.id, bad.id, last.id]
    assert [one.spec for one in claims if one.spec.id != bad.id] == [first, last]
    stand_in = claims[1].spec
    assert (stand_in.queue, stand_in.job_type) == (queue, "")
    assert stand_in.cause is not None
    assert stand_in.cause.kind == UNREADABLE
    ends = [succeed(claims[0]), settled(claims[1], refused(UNREADABLE, "no")), succeed(claims[2])]
    assert finish(store, *ends) == frozenset()
    assert counts(store, queue) == {JobState.SUCCEEDED: 2, JobState.FAILED: 1}


def test_beside_a_broken_job_each_has_its_own_place_and_fencing_number(
    store: Store, broken: Callable[[bytes], bytes]
) -> None:
    queue = new_queue()
    locked, plain, bad = spec(queue, lock_key="lock"), spec(queue, priority=1), spec(queue, priority=2)
    enqueue(store, locked, plain, bad)
    spoil(store, "spec", bad.id, broken, queue)

    claims = claim(store, queue)

    assert [one.spec.id for one in claims] == [bad.id, plain.id, locked.id]
    assert [one.fence > 0 for one in claims] == [False, False, True]


def test_a_claim_that_comes_across_a_broken_job_gives_what_it_took_itself_as_it_took_it(
    store: Store, broken: Callable[[bytes], bytes]
) -> None:
    queue, node = new_queue(), new_node()
    enqueue(store, spec(queue))
    before = claim_one(store, queue, node=node)
    bad, second, third = spec(queue), spec(queue), spec(queue)
    enqueue(store, bad, second, third)
    spoil(store, "spec", bad.id, broken, queue)

    claims = store.claim_jobs(queue, token=token_of(node), limit=9, now=NOW, begin=2).claims

    assert [one.spec.id for one in claims] == [bad.id, second.id, third.id]
    assert before.token not in {one.token for one in claims}
    assert [(one.is_begun, one.attempts) for one in claims] == [(True, 0), (True, 0), (False, 0)]


def test_a_broken_job_that_holds_a_lock_and_a_key_frees_them(store: Store, broken: Callable[[bytes], bytes]) -> None:
    queue = new_queue()
    bad, waiting = spec(queue, lock_key="lock", unique_key="one"), spec(queue, lock_key="lock")
    enqueue(store, bad, waiting)
    spoil(store, "spec", bad.id, broken, queue)
    (claimed,) = claim(store, queue)

    finish(store, settled(claimed, refused(UNREADABLE, "no")))

    assert [one.spec.id for one in claim(store, queue)] == [waiting.id]
    assert enqueue(store, again := spec(queue, unique_key="one")) == [again.id]


@pytest.mark.stores("redis", "redis-cluster")  # only there a job has a mark
def test_a_job_with_a_broken_mark_does_not_stop_the_claim_of_its_neighbours(
    store: Store, broken: Callable[[bytes], bytes]
) -> None:
    queue = new_queue()
    bad, due, good = spec(queue, lock_key="lock"), spec(queue, run_at=NOW + 1), spec(queue, lock_key="lock")
    enqueue(store, bad, due, good)
    spoil(store, "mark", bad.id, broken, queue)
    spoil(store, "mark", due.id, broken, queue)

    claims = {one.spec.id: one for one in claim(store, queue, now=NOW + 1)}

    assert claims.keys() == {bad.id, due.id, good.id}
    assert claims[good.id].spec == good
    assert finish(store, *(settled(one, refused(UNREADABLE, "no")) for one in claims.values())) == frozenset()
    assert counts(store, queue) == {JobState.FAILED: 3}


@pytest.mark.stores("redis", "redis-cluster")  # only there a job has a mark
def test_a_due_job_with_a_broken_mark_comes_behind_those_that_were_ready_before(
    store: Store, broken: Callable[[bytes], bytes]
) -> None:
    queue = new_queue()
    due, ready = spec(queue, run_at=NOW + 100), spec(queue)
    enqueue(store, due, ready)
    spoil(store, "mark", due.id, broken, queue)

    assert [one.spec.id for one in claim(store, queue, now=NOW + 100)] == [ready.id, due.id]


def test_a_broken_job_of_a_dead_node_is_found_and_taken_back(store: Store, broken: Callable[[bytes], bytes]) -> None:
    queue = new_queue()
    bad, good = spec(queue), spec(queue)
    enqueue(store, bad, good)
    node = new_node()
    claim(store, queue, node=node)
    spoil(store, "spec", bad.id, broken, queue)

    assert {one.spec.id for one in claims_of(store, queue, node)} == {bad.id, good.id}
    assert store.recover_claims(queue, node, {}, floor=0, now=NOW) == 2
    assert {one.spec.id for one in claim(store, queue, node=node)} == {bad.id, good.id}


def test_listings_and_lookups_show_a_broken_job_and_the_others(store: Store, broken: Callable[[bytes], bytes]) -> None:
    queue = new_queue()
    ended = ended_job(store, queue, JobState.SUCCEEDED)
    held, delayed, ready = spec(queue), spec(queue, run_at=LATER), spec(queue)
    enqueue(store, held)
    claim(store, queue)
    enqueue(store, delayed, ready)
    everything = [delayed.id, ready.id, held.id, ended]
    for job_id in everything:
        spoil(store, "spec", job_id, broken, queue)
        enqueue(store, spec(queue))

    assert set(listed(store, JobQuery(queue=queue), limit=2)) >= set(everything)
    jobs = [find(store, job_id) for job_id in everything]
    states = [JobState.DELAYED, JobState.QUEUED, JobState.RUNNING, JobState.SUCCEEDED]
    assert [job.state for job in jobs] == states
    assert all(job.spec.cause and job.spec.cause.kind == UNREADABLE for job in jobs)


def test_a_broken_job_can_be_cancelled_brought_back_and_deleted(store: Store, broken: Callable[[bytes], bytes]) -> None:
    queue = new_queue()
    bad = spec(queue)
    enqueue(store, bad)
    spoil(store, "spec", bad.id, broken, queue)

    store.cancel_jobs([bad.id], now=NOW)
    assert find(store, bad.id).state is JobState.CANCELLED
    assert store.retry_jobs([bad.id], now=NOW) == [True]
    store.cancel_jobs([bad.id], now=NOW)
    assert store.delete_jobs([bad.id]) == [True]
    assert store.find_jobs([bad.id]) == [None]


@pytest.mark.parametrize(
    "fields",
    [{"series": [{"name": "nightly"}]}, {"series": [7, None]}, {"series": {"of": "x"}}, {"enqueued_at": "then"}],
    ids=str,
)
def test_ended_jobs_are_forgotten_together_although_the_series_of_one_cannot_be_read(
    store: Store, fields: dict[str, object]
) -> None:
    queue = new_queue()
    jobs = [spec(queue, series=("nightly",)) for _ in range(3)]
    enqueue(store, *jobs)
    finish(store, *map(succeed, claim(store, queue)))
    spoil(store, "spec", jobs[1].id, lambda record: msgspec.json.encode(msgspec.json.decode(record) | fields), queue)

    assert store.delete_jobs([job.id for job in jobs]) == [True] * 3
    assert store.find_jobs([job.id for job in jobs]) == [None] * 3
    assert counts(store, queue) == {}


def test_a_job_with_a_broken_ending_is_listed_and_can_be_deleted(
    store: Store, broken: Callable[[bytes], bytes]
) -> None:
    queue = new_queue()
    bad, good = ended_job(store, queue, JobState.FAILED), ended_job(store, queue, JobState.FAILED)
    spoil(store, "ending", bad, broken, queue)

    assert set(listed(store, JobQuery(queue=queue))) == {bad, good}
    job = find(store, bad)
    assert isinstance(job.errors, dict)
    assert (job.state, job.errors["type"]) == (JobState.FAILED, UNREADABLE)
    assert store.delete_jobs([bad, good]) == [True, True]


def test_a_broken_line_of_a_log_keeps_its_place(store: Store, broken: Callable[[bytes], bytes]) -> None:
    queue = new_queue()
    enqueue(store, spec(queue))
    claimed = claim_one(store, queue)
    store.append_logs([log_batch(claimed, message) for message in ("one", "two", "three")])
    change = lambda record: broken(record) if b"two" in record else record  # noqa: E731
    change_records(store, "log line", claimed.spec.id, change, queue=queue)

    first, second, third = messages_of(store, claimed.spec.id)

    assert (first, third) == ("one", "three")
    assert "cannot be read" in second
    assert store.read_logs(claimed.spec.id, after=2).next == 3


def test_broken_lines_that_came_together_keep_their_places(store: Store) -> None:
    queue = new_queue()
    enqueue(store, spec(queue))
    claimed = claim_one(store, queue)
    store.append_logs([log_batch(claimed, "before")])
    store.append_logs([log_batch(claimed, "bad 1", "bad 2", "bad 3")])
    store.append_logs([log_batch(claimed, "after", "last")])
    change = lambda record: record[:10] if b"bad" in record else record  # noqa: E731
    change_records(store, "log line", claimed.spec.id, change, queue=queue)

    first, *unreadable, after, last = messages_of(store, claimed.spec.id)

    assert (first, after, last) == ("before", "after", "last")
    assert ["cannot be read" in message for message in unreadable] == [True] * 3
    assert [entry.message for entry in store.read_logs(claimed.spec.id, after=3, limit=2).entries][1:] == ["after"]


# -- everything else -----------------------------------------------------------------------------------------------


def test_a_broken_definition_has_a_stand_in_that_can_be_replaced_or_deleted(
    store: Store, broken: Callable[[bytes], bytes]
) -> None:
    node_types = [NodeType(uuid=new_id(NOW), name=name) for name in ("good", "spoilt")]
    job_types = [JobType(uuid=new_id(NOW), name=name, executor="log") for name in ("good", "spoilt")]
    store.put_node_types(node_types)
    store.put_job_types(job_types)
    spoil(store, "node type", node_types[1].uuid, broken)
    spoil(store, "job type", job_types[1].uuid, broken)

    found_node_types, found_job_types = store.list_node_types(), store.list_job_types()

    assert (found_node_types[0], found_job_types[0]) == (node_types[0], job_types[0])
    assert [one.managed_by for one in (found_node_types[1], found_job_types[1])] == [UNREADABLE] * 2
    assert [one.name for one in (found_node_types[1], found_job_types[1])] == ["spoilt"] * 2
    assert unreadable(store) == {"node type", "job type"}
    renamed = structs.replace(node_types[1], name="mended")
    store.put_node_types([renamed])
    assert store.list_node_types() == [node_types[0], renamed]
    assert store.delete_job_types([job_types[1].uuid]) == 1
    store.put_node_types([NodeType(uuid=new_id(NOW), name="spoilt")])
    store.put_job_types([JobType(uuid=new_id(NOW), name="spoilt", executor="log")])


def test_a_broken_node_is_listed_by_its_beats(store: Store, broken: Callable[[bytes], bytes]) -> None:
    good, bad = (Node(uuid=new_id(NOW), node_type="q", last_ping=NOW + n) for n in range(2))
    beat(store, good, bad)
    spoil(store, "node", bad.uuid, broken)

    assert [(one.uuid, one.last_ping) for one in store.list_nodes(since=0)] == [
        (good.uuid, NOW),
        (bad.uuid, NOW + 1),
    ]
    assert store.remove_nodes(uuid=bad.uuid) == 1


@pytest.mark.parametrize("part", ["schedule", "schedule state"])
def test_a_broken_schedule_stops_no_other_and_can_be_deleted(
    store: Store, broken: Callable[[bytes], bytes], part: str
) -> None:
    if part == "schedule state" and broken is BROKEN["without its fields"]:
        pytest.skip("that is the state of a schedule that has done nothing yet")
    queue = new_queue()
    one, bad, two = (scheduling.schedule(queue, name) for name in ("a", "b", "c"))
    entries = [scheduling.put(store, each) for each in (one, bad, two)]
    spoil(store, part, bad.uuid, broken, queue)

    assert store.find_schedules([one.uuid, bad.uuid, two.uuid]) == [entries[0], None, entries[2]]
    first = store.list_schedules(limit=2)
    assert first.entries == [entries[0]]
    assert store.list_schedules(limit=2, cursor=first.cursor).entries == [entries[2]]
    due = store.claim_due_schedules(queue, now=NOW, lease_ms=1, limit=10).entries
    assert sorted(entry.schedule.name for entry in due) == ["a", "c"]
    assert "schedule" in unreadable(store)
    assert store.delete_schedules([bad.uuid, bad.uuid]) in ([True, False], [True, True])
    scheduling.put(store, scheduling.schedule(queue, "b"))
    assert [entry.schedule.name for entry in store.list_schedules(limit=9).entries] == ["a", "b", "c"]


def test_a_job_with_a_broken_ending_keeps_its_schedule_from_nothing(
    store: Store, broken: Callable[[bytes], bytes]
) -> None:
    queue = new_queue()
    entry = scheduling.put(store, scheduling.schedule(queue))
    job = spec(queue)
    store.fire_schedules(queue, [scheduling.firing(entry, job)], now=NOW)
    finish(store, succeed(claim_one(store, queue)))
    spoil(store, "ending", job.id, broken, queue)

    there = scheduling.found(store, entry.schedule)

    assert (there.state.jobs, there.live_jobs, there.waiting_jobs) == ((job.id,), (), ())


def test_the_name_of_a_broken_schedule_is_not_free(store: Store, broken: Callable[[bytes], bytes]) -> None:
    queue = new_queue()
    bad = scheduling.schedule(queue, "taken")
    scheduling.put(store, bad)
    spoil(store, "schedule", bad.uuid, broken, queue)

    with pytest.raises(Exception, match="another schedule has the name"):
        scheduling.put(store, scheduling.schedule(queue, "taken"))


def test_a_broken_tick_is_left_out(store: Store, broken: Callable[[bytes], bytes]) -> None:
    queue = new_queue()
    one: Schedule = scheduling.schedule(queue)
    entry = scheduling.put(store, one)
    store.fire_schedules(queue, [scheduling.firing(entry)], now=NOW)
    spoil(store, "tick", one.uuid, broken, queue)

    assert store.list_ticks(one.uuid, limit=10) == []


@pytest.mark.parametrize("part", ["configuration", "configuration state"])
def test_a_broken_configuration_stops_no_other_and_can_be_deleted(
    store: Store, broken: Callable[[bytes], bytes], part: str
) -> None:
    queue = new_queue()
    names = ("a", "b", "c")
    entries = [put_configuration(store, configuration(queue, dependency("report", "JOB"), name=n)) for n in names]
    one, bad, two = (entry.configuration for entry in entries)
    spoil(store, part, bad.uuid, broken, queue)

    assert store.find_configurations([one.uuid, bad.uuid, two.uuid]) == [entries[0], None, entries[2]]
    assert store.load_configurations(queue, [bad.uuid, two.uuid]) == [None, entries[2]]
    first = store.list_configurations(limit=2)
    assert first.entries == [entries[0]]
    assert store.list_configurations(limit=2, cursor=first.cursor).entries == [entries[2]]
    assert {each.name for each in store.listening_configurations()} >= {"a", "c"}
    assert "configuration" in unreadable(store)
    assert store.delete_configurations([bad.uuid]) == [True]
    put_configuration(store, configuration(queue, name="b"))
    assert [entry.configuration.name for entry in store.list_configurations(limit=9).entries] == ["a", "b", "c"]


def test_whoever_ends_jobs_hears_that_a_broken_configuration_was_deleted(
    store: Store, broken: Callable[[bytes], bytes]
) -> None:
    queue = new_queue()
    bad = put_configuration(store, configuration(queue, dependency("report", "JOB"))).configuration
    spoil(store, "configuration", bad.uuid, broken, queue)
    before = store.definitions_version()

    assert store.delete_configurations([bad.uuid]) == [True]

    assert store.definitions_version() != before


def test_broken_evaluations_and_validations_are_left_out(store: Store, broken: Callable[[bytes], bytes]) -> None:
    queue = new_queue()
    entry = put_configuration(store, configuration(queue))
    uuid = entry.configuration.uuid
    store.apply_verdicts(queue, [verdicts(entry, event())], now=NOW)
    spoil(store, "evaluation", uuid, broken, queue)
    spoil(store, "validation", uuid, broken, queue)

    assert store.list_evaluations(uuid, limit=9) == []
    assert store.list_validations(uuid, limit=9) == []


def test_a_broken_event_at_the_head_of_the_outbox_is_set_aside(store: Store, broken: Callable[[bytes], bytes]) -> None:
    queue = make_queue(store)
    await_ends(store)
    enqueue(store, spec(queue))
    finish(store, succeed(claim_one(store, queue)))
    spoil(store, "event", queue, broken, queue)
    enqueue(store, spec(queue))
    finish(store, succeed(claim_one(store, queue), NOW + 1))

    (left,) = store.read_outbox(queue, limit=2)

    assert left.time == (NOW + 1) * 1_000
    assert store.read_outbox(queue, limit=1) == [left]
    assert len(store.list_settings("unreadable event ")) == 1
    assert unreadable(store) == {"event"}


def test_counts_of_words_that_are_not_known_are_passed_over(store: Store) -> None:
    queue = new_queue()
    ended_job(store, queue, JobState.SUCCEEDED)
    before = store.read_totals(queue)
    count_unknown(store, queue)

    assert store.read_totals(queue) == before
    assert [one.succeeded for one in store.read_stats(queue, since=NOW - 60_000, until=NOW + 60_000)] in ([1], [])


def count_unknown(store: Store, queue: str) -> None:
    if isinstance(store, SqliteStore):
        with store._database.write() as db:
            count_up(db, queue, "vanished", 3, NOW)
    else:
        assert isinstance(store, RedisStore)
        store.access().ask("hset", QueueKeys(queue).totals, "vanished", "3")
