"""Jobs that others push. Only on a single Redis: no other store has these lists."""

import itertools
import threading
from collections.abc import Callable
from functools import partial
from typing import cast
from uuid import uuid4

import msgspec
import pytest

from rota.engine.jobs.intake import JobRequest
from rota.errors import StoreUnavailable
from rota.model.job import Job, JobState
from rota.model.job_type import JobType, Unique
from rota.model.limits import MAX_PAYLOAD_BYTES
from rota.model.node import NodeType
from rota.store import Store
from rota.store.contract.jobs import CancelAnswer, JobQuery
from rota.store.redis.link.access import RedisAccess
from rota.store.redis.store import RedisStore
from rota.testing import Faults
from tests.contract.building import ended_job, interrupt, state_of, succeed
from tests.contract.steps import run_with
from tests.dialects.synchrony.speaking import Speaker

pytestmark = pytest.mark.stores("redis")

QUEUE = "1bd2bf95-868a-4212-8a0a-82c7f442848e"
JOB_TYPE = "80d1c95a-a9cc-4dbb-a3fb-ff0f6b7d2c06"
KEY = f"jobs_waiting_{QUEUE}"
RANK_STEP_MS = 16
OTHER_QUEUE = "0190b8a4-0000-7000-8000-0000000000aa"
OTHER_TYPE = JobType(
    uuid="0190b8a4-0000-7000-8000-0000000000bb",
    name="gpu_job",
    executor="bash",
    metadata={"command": "true"},
    node_type="gpu",
)


@pytest.fixture
def speaker(store: Store) -> Speaker:
    speaker = Speaker(store)
    speaker.definitions.define([NodeType(uuid=QUEUE, name="default")], [job_type()])
    return speaker


def job_type(unique: Unique = Unique.NONE) -> JobType:
    return JobType(uuid=JOB_TYPE, name="test_job", executor="bash", metadata={"command": "true"}, unique=unique)


def push(speaker: Speaker, count: int) -> list[str]:
    uuids = [str(uuid4()) for _ in range(count)]
    entries = [msgspec.json.encode({"uuid": one, "job_type_uuid": JOB_TYPE, "arguments": {}}) for one in uuids]
    speaker.access.ask("rpush", KEY, *entries)
    return uuids


def adopt_all(speaker: Speaker) -> None:
    while speaker.access.ask("llen", KEY):
        speaker.adoption.take(KEY)


def claim_all(speaker: Speaker) -> list[str]:
    claims = speaker.store.claim_jobs(QUEUE, token="n/1", limit=1000, now=speaker.clock.now()).claims
    return [claim.spec.id for claim in claims]


@pytest.mark.parametrize("unique", [Unique.NONE, Unique.WHILE_RUNNING])
def test_what_goes_back_keeps_its_place_to_the_last_digit(speaker: Speaker, unique: Unique) -> None:
    speaker.definitions.define_job_type(job_type(unique))
    uuids = push(speaker, 50)
    adopt_all(speaker)
    now = speaker.clock.now()

    claims = speaker.store.claim_jobs(QUEUE, token="n/1", limit=20, now=now, begin=1).claims
    speaker.store.finish_jobs(QUEUE, [interrupt(one, now) for one in reversed(claims)], now=now)
    assert speaker.store.cancel_jobs([uuids[1]], now=now) == [CancelAnswer.CANCELLED]

    left = [uuids[0], *uuids[2:]]
    claimed = []
    while some := speaker.store.claim_jobs(QUEUE, token="n/2", limit=100, now=now).claims:
        claimed += [one.spec.id for one in some]
        speaker.store.finish_jobs(QUEUE, [succeed(one, now) for one in some], now=now)
    assert claimed == left


@pytest.mark.parametrize("unique", [Unique.NONE, Unique.WHILE_RUNNING])
def test_order_is_kept_however_many_come_at_once(speaker: Speaker, unique: Unique) -> None:
    speaker.definitions.define_job_type(job_type(unique))
    uuids = push(speaker, 250)
    adopt_all(speaker)
    speaker.clock.advance(1)
    uuids += push(speaker, 50)
    adopt_all(speaker)

    claimed = claim_all(speaker)
    held = speaker.store.find_jobs(uuids[len(claimed) :])

    assert claimed == uuids[: 1 if unique is Unique.WHILE_RUNNING else 300]
    places = [job.available_at for job in held if job and job.state is JobState.QUEUED]
    assert places == sorted(places)
    assert len(places) == 300 - len(claimed)


def test_adopted_jobs_line_up_with_those_that_came_in_another_way(speaker: Speaker) -> None:
    before = speaker.engine.intake.enqueue([JobRequest(job_type=JOB_TYPE)])[0].job_id
    speaker.clock.advance(20)
    pushed = push(speaker, 1)
    adopt_all(speaker)
    speaker.clock.advance(60_000)
    after = speaker.engine.intake.enqueue([JobRequest(job_type=JOB_TYPE)])[0].job_id

    assert claim_all(speaker) == [before, *pushed, after]


@pytest.mark.parametrize("unique", [Unique.NONE, Unique.WHILE_RUNNING])
def test_a_thousand_a_second_keep_their_order_and_run_when_they_came_among_others(
    speaker: Speaker, unique: Unique
) -> None:
    speaker.definitions.define_job_type(job_type(unique))
    came: dict[str, int] = {}
    pushed: list[str] = []
    for _ in range(400):
        now = speaker.clock.advance(1)
        came[speaker.engine.intake.enqueue([JobRequest(job_type=JOB_TYPE)])[0].job_id] = now
        pushed += push(speaker, 1)
        came[pushed[-1]] = now
        adopt_all(speaker)
    listed = [job.id for job in listed_jobs(speaker)]

    ran = run_all(speaker)

    assert [job_id for job_id in ran if job_id in set(pushed)] == pushed
    times = [came[job_id] for job_id in ran]
    latest = list(itertools.accumulate(times, max))
    assert max(late - time for late, time in zip(latest, times, strict=True)) <= RANK_STEP_MS
    assert listed == ran


def listed_jobs(speaker: Speaker) -> list[Job]:
    """All that wait, in pages that end within a step of the rank."""
    found: list[Job] = []
    cursor: str | None = None
    while True:
        page = speaker.store.list_jobs(JobQuery(), limit=7, cursor=cursor)
        found += page.jobs
        cursor = page.cursor
        if cursor is None:
            return found


def run_all(speaker: Speaker) -> list[str]:
    """Run what is there; returns the ids in the order of their runs."""
    ran: list[str] = []
    now = speaker.clock.now()
    while claims := speaker.store.claim_jobs(QUEUE, token="n/1", limit=1000, now=now).claims:
        ran += [claim.spec.id for claim in claims]
        speaker.store.finish_jobs(QUEUE, [succeed(claim, now) for claim in claims], now=now)
    return ran


def test_an_adopted_job_that_waits_for_a_lock_can_be_cancelled(speaker: Speaker) -> None:
    speaker.definitions.define_job_type(job_type(Unique.WHILE_RUNNING))
    uuids = push(speaker, 50)
    adopt_all(speaker)
    claim_all(speaker)

    speaker.store.cancel_jobs(uuids[1:40], now=speaker.clock.now())

    assert [job.id for job in listed_jobs(speaker) if job.state is JobState.QUEUED] == uuids[40:]


def test_an_entry_is_taken_once_by_however_many_nodes(speaker: Speaker, open_again: Callable[[], Store]) -> None:
    uuids = push(speaker, 2_000)
    nodes = [Speaker(open_again()) for _ in range(4)]
    taken: list[int] = []

    def adopt(node: Speaker) -> None:
        while node.access.ask("llen", KEY):
            taken.append(node.adoption.take(KEY))

    threads = [threading.Thread(target=adopt, args=[node]) for node in nodes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sum(taken) == 2_000
    assert speaker.store.count_jobs(QUEUE)[JobState.QUEUED] == 2_000
    assert claim_all(speaker) == uuids[:1000]


def test_entries_of_which_somebody_else_takes_the_first_are_not_taken_for_others(
    speaker: Speaker, open_again: Callable[[], Store]
) -> None:
    """Whichever step that comes before, and though they name no job by which they were known."""
    other = Speaker(open_again())
    for number in itertools.count():
        entries, gone = [f"no job {place}" for place in range(3)], list[str]()
        speaker.access.ask("rpush", KEY, *entries)

        def take_first(gone: list[str] = gone) -> None:
            if (entry := other.access.ask("lpop", KEY)) is not None:
                gone.append(entry.decode())

        ran = run_with(speaker.store, number, lambda: adopt_all(speaker), before=take_first)

        assert [letter["entry"] for letter in dead_letters(speaker)] == [one for one in entries if one not in gone]
        speaker.access.ask("delete", "rota:synchrony:dead")
        if not ran.is_reached:
            break


def test_a_job_type_that_was_defined_a_moment_ago_is_known(speaker: Speaker) -> None:
    new = str(uuid4())
    record = {"uuid": new, "name": "new", "executor": "bash", "metadata": {"command": "true"}}
    speaker.write("job_types", new, record)
    speaker.access.ask("rpush", KEY, msgspec.json.encode({"uuid": new, "job_type_uuid": new, "arguments": {}}))

    adopt_all(speaker)

    assert claim_all(speaker) == [new]


@pytest.mark.parametrize("entry", [b"", b"\xff\xfe", b"[" * 100_000, b'{"uuid": "\\ud800"}', b"x" * 2_000_000])
def test_anything_can_be_pushed_and_good_jobs_behind_it_are_adopted(speaker: Speaker, entry: bytes) -> None:
    speaker.access.ask("rpush", KEY, entry)
    uuids = push(speaker, 1)

    adopt_all(speaker)

    assert claim_all(speaker) == uuids
    letter = msgspec.json.decode(speaker.access.ask("lindex", "rota:synchrony:dead", 0))
    assert letter["list"] == KEY
    assert letter["reason"]


def test_a_job_that_is_there_already_stays_as_it_is(speaker: Speaker) -> None:
    uuids = push(speaker, 1)
    adopt_all(speaker)
    assert claim_all(speaker) == uuids
    speaker.access.ask(
        "rpush", KEY, msgspec.json.encode({"uuid": uuids[0], "job_type_uuid": JOB_TYPE, "arguments": {"a": 1}})
    )

    adopt_all(speaker)

    job = speaker.store.find_jobs(uuids)[0]
    assert job is not None
    assert (job.state, job.spec.arguments) == (JobState.RUNNING, {})


def define_other_queue(speaker: Speaker) -> None:
    speaker.definitions.define([NodeType(uuid=OTHER_QUEUE, name="gpu")], [OTHER_TYPE])


def ids_given_out(speaker: Speaker) -> dict[str, list[str]]:
    """By queue."""
    now = speaker.clock.now()
    answers = {one: speaker.store.claim_jobs(one, token="n/1", limit=10, now=now) for one in (QUEUE, OTHER_QUEUE)}
    return {queue: [claim.spec.id for claim in answer.claims] for queue, answer in answers.items()}


def test_an_id_that_another_queue_has_makes_no_second_job(speaker: Speaker) -> None:
    define_other_queue(speaker)
    known, more = str(uuid4()), str(uuid4())
    speaker.engine.intake.enqueue([JobRequest(job_type=OTHER_TYPE.uuid, id=known)])
    entries = [entry_of(uuid=known), entry_of(uuid=more), entry_of(uuid=known, arguments=[])]
    speaker.access.ask("rpush", KEY, *map(msgspec.json.encode, entries))

    adopt_all(speaker)

    assert ids_given_out(speaker) == {QUEUE: [more], OTHER_QUEUE: [known]}
    assert speaker.store.count_jobs(QUEUE)[JobState.FAILED] == 0, "a broken entry of its id is no job either"
    assert len(dead_letters(speaker)) == 1


@pytest.mark.parametrize("state", [JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED])
def test_an_id_of_a_job_that_ended_in_another_queue_makes_no_second_job(speaker: Speaker, state: JobState) -> None:
    define_other_queue(speaker)
    ended = ended_job(speaker.store, OTHER_QUEUE, state)
    speaker.access.ask("rpush", KEY, msgspec.json.encode(entry_of(uuid=ended)))

    adopt_all(speaker)

    assert ids_given_out(speaker) == {QUEUE: [], OTHER_QUEUE: []}
    assert (state_of(speaker.store, ended), dead_letters(speaker)) == (state, [])


def test_an_id_that_comes_to_another_queue_while_it_is_adopted_is_one_job(
    speaker: Speaker, open_again: Callable[[], Store]
) -> None:
    """Whichever step it comes before."""
    define_other_queue(speaker)
    other = Speaker(open_again())
    other.definitions.refresh()
    for number in itertools.count():
        (pushed,) = push(speaker, 1)
        request = JobRequest(job_type=OTHER_TYPE.uuid, id=pushed)

        ran = run_with(
            speaker.store,
            number,
            lambda: adopt_all(speaker),
            before=partial(other.engine.intake.enqueue, [request]),
        )

        if not ran.is_reached:
            break
        given = ids_given_out(speaker)
        assert [*given[QUEUE], *given[OTHER_QUEUE]] == [pushed], number


def test_of_one_id_that_is_pushed_for_two_queues_the_first_is_a_job(speaker: Speaker) -> None:
    define_other_queue(speaker)
    first = entry_of()
    second = first | {"job_type_uuid": OTHER_TYPE.uuid}
    speaker.access.ask("rpush", KEY, *map(msgspec.json.encode, (first, second)))

    adopt_all(speaker)

    assert ids_given_out(speaker) == {QUEUE: [first["uuid"]], OTHER_QUEUE: []}


def test_a_dead_letter_gives_way_to_a_job_of_another_queue(speaker: Speaker) -> None:
    define_other_queue(speaker)
    bad = entry_of(arguments=[])
    speaker.access.ask("rpush", KEY, msgspec.json.encode(bad))
    adopt_all(speaker)
    good = bad | {"arguments": {}, "job_type_uuid": OTHER_TYPE.uuid}
    speaker.access.ask("rpush", KEY, msgspec.json.encode(good))

    adopt_all(speaker)

    assert ids_given_out(speaker) == {QUEUE: [], OTHER_QUEUE: [bad["uuid"]]}
    assert speaker.store.count_jobs(QUEUE)[JobState.FAILED] == 0


def test_a_dead_letter_does_not_give_way_to_a_broken_entry_of_another_queue(speaker: Speaker) -> None:
    define_other_queue(speaker)
    bad = entry_of(arguments=[])
    speaker.access.ask("rpush", KEY, msgspec.json.encode(bad))
    adopt_all(speaker)
    other_key = f"jobs_waiting_{OTHER_QUEUE}"
    speaker.access.ask("rpush", other_key, msgspec.json.encode(bad | {"job_type_uuid": "odd"}))

    assert speaker.adoption.take(other_key) == 1

    (job,) = speaker.store.find_jobs([str(bad["uuid"])])
    assert job is not None
    assert (job.spec.queue, job.spec.job_type, job.state) == (QUEUE, JOB_TYPE, JobState.FAILED)
    assert len(dead_letters(speaker)) == 2, "that nobody could use it either is told all the same"


def test_an_id_that_is_adopted_while_it_is_enqueued_to_another_queue_is_one_job(
    speaker: Speaker, open_again: Callable[[], Store]
) -> None:
    """Whichever step it comes before."""
    define_other_queue(speaker)
    other = Speaker(open_again())
    other.definitions.refresh()
    for number in itertools.count():
        (pushed,) = push(speaker, 1)
        request = JobRequest(job_type=OTHER_TYPE.uuid, id=pushed)

        ran = run_with(
            other.store,
            number,
            partial(other.engine.intake.enqueue, [request]),
            before=lambda: adopt_all(speaker),
        )

        if not ran.is_reached:
            break
        given = ids_given_out(speaker)
        assert [*given[QUEUE], *given[OTHER_QUEUE]] == [pushed], number
    assert number > 1


def test_a_job_that_was_there_already_is_counted_once(speaker: Speaker) -> None:
    (first,) = push(speaker, 1)
    adopt_all(speaker)
    speaker.access.ask("rpush", KEY, msgspec.json.encode(entry_of(uuid=first)), msgspec.json.encode(entry_of()))

    adopt_all(speaker)

    assert speaker.store.read_totals(QUEUE).enqueued == 2
    assert speaker.store.count_jobs(QUEUE)[JobState.QUEUED] == 2


# -- what is no job ------------------------------------------------------------------------------------------------


def dead_letters(speaker: Speaker) -> list[dict[str, object]]:
    return [msgspec.json.decode(letter) for letter in speaker.access.ask("lrange", "rota:synchrony:dead", 0, -1)]


def entry_of(**fields: object) -> dict[str, object]:
    return {"uuid": str(uuid4()), "job_type_uuid": JOB_TYPE, "arguments": {}} | fields


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        (b"{", "entry: Input data was truncated"),
        (b"7", "entry: Expected `object`, got `int`"),
        (b'{"uuid": "x"}', "entry: Object missing required field `job_type_uuid`"),
        (entry_of(uuid="no-uuid"), "uuid: 'no-uuid' is not a UUID"),
        (entry_of(job_type_uuid="no-uuid"), "job_type_uuid: 'no-uuid' is not a UUID"),
        (entry_of(arguments=[]), "entry: Expected `object`, got `array` - at `$.arguments`"),
        (entry_of(job_type_uuid=QUEUE), f"no job type {QUEUE!r}"),
        (b"x" * (1024 * 1024 + 1), "entry: is 1048577 bytes, the limit is 1048576"),
    ],
)
def test_an_entry_that_is_no_job_is_kept_with_the_true_reason(
    speaker: Speaker, entry: bytes | dict[str, object], reason: str
) -> None:
    text = entry if isinstance(entry, bytes) else msgspec.json.encode(entry)
    speaker.access.ask("rpush", KEY, text)

    assert speaker.adoption.take(KEY) == 1

    (letter,) = dead_letters(speaker)
    assert str(letter["reason"]).startswith(reason)
    assert letter["entry"] == text.decode()[: 1024 * 1024]
    assert (letter["list"], letter["time"]) == (KEY, speaker.clock.now())
    assert speaker.store.count_jobs(QUEUE)[JobState.QUEUED] == 0


@pytest.mark.parametrize(
    ("definition", "reason"),
    [
        ({"executor": "nothing"}, "no executor 'nothing'"),
        ({"executor": "log", "node_type": "nowhere"}, "node_type: no node type 'nowhere'"),
        ({"executor": 7}, "entry: Expected `str`, got `int`"),
    ],
)
def test_a_job_whose_type_cannot_be_used_is_told_why_and_not_that_there_is_none(
    speaker: Speaker, definition: dict[str, object], reason: str
) -> None:
    uuid = str(uuid4())
    speaker.access.ask("hset", "job_types", uuid, msgspec.json.encode({"uuid": uuid, "name": "bad", **definition}))
    speaker.access.ask("rpush", KEY, msgspec.json.encode(entry_of(job_type_uuid=uuid)))

    assert speaker.adoption.take(KEY) == 1

    (letter,) = dead_letters(speaker)
    assert str(letter["reason"]).startswith(f"its job type {uuid} in job_types cannot be used: ")
    assert reason in str(letter["reason"])


def test_a_dead_letter_that_names_its_job_leaves_it_failed_with_the_true_reason(speaker: Speaker) -> None:
    unknown, wrong = entry_of(job_type_uuid=QUEUE, arguments={"a": 1}), entry_of(arguments=[])
    speaker.access.ask("rpush", KEY, msgspec.json.encode(unknown), "bad", msgspec.json.encode(wrong))

    adopt_all(speaker)

    jobs = speaker.store.find_jobs([str(unknown["uuid"]), str(wrong["uuid"])])
    reasons = [job.errors["message"] for job in jobs if job and isinstance(job.errors, dict)]
    assert reasons == [letter["reason"] for letter in dead_letters(speaker) if letter["entry"] != "bad"]
    assert [(job.state, job.ended_at, job.attempts) for job in jobs if job] == [
        (JobState.FAILED, speaker.clock.now(), 0),
        (JobState.FAILED, speaker.clock.now(), 0),
    ]
    assert [(job.spec.job_type, job.spec.arguments) for job in jobs if job] == [(QUEUE, {"a": 1}), (JOB_TYPE, {})]
    assert speaker.store.count_jobs(QUEUE)[JobState.FAILED] == 2
    totals = speaker.store.read_totals(QUEUE)
    assert (totals.enqueued, totals.failed) == (2, 2)
    assert claim_all(speaker) == []


def test_of_a_dead_letter_that_names_its_job_only_that_is_kept_which_a_job_can_have(speaker: Speaker) -> None:
    odd, huge = entry_of(job_type_uuid="odd"), entry_of(job_type_uuid=QUEUE, arguments={"a": "x" * MAX_PAYLOAD_BYTES})
    long = entry_of(enqueued_at="y" * 5_000, job_type_uuid="z" * 5_000)
    speaker.access.ask("rpush", KEY, *map(msgspec.json.encode, (odd, huge, long)))

    adopt_all(speaker)

    jobs = [job for job in speaker.store.find_jobs([str(one["uuid"]) for one in (odd, huge, long)]) if job]
    assert [(job.spec.job_type, job.spec.arguments) for job in jobs] == [("", {}), (QUEUE, {}), ("", {})]


def test_a_job_that_was_a_dead_letter_runs_when_it_is_pushed_anew(speaker: Speaker) -> None:
    entry = entry_of(job_type_uuid=str(uuid4()))
    speaker.access.ask("rpush", KEY, msgspec.json.encode(entry), *[msgspec.json.encode(entry_of())])
    adopt_all(speaker)
    good = entry | {"job_type_uuid": JOB_TYPE}
    speaker.access.ask("rpush", KEY, msgspec.json.encode(good), msgspec.json.encode(good))

    adopt_all(speaker)

    assert entry["uuid"] in claim_all(speaker)
    assert speaker.store.count_jobs(QUEUE)[JobState.FAILED] == 0
    job = speaker.store.find_jobs([str(entry["uuid"])])[0]
    assert job is not None
    assert (job.state, job.errors) == (JobState.RUNNING, None)


def test_a_job_that_ended_is_not_undone_by_a_broken_entry_of_its_id(speaker: Speaker) -> None:
    (uuid,) = push(speaker, 1)
    adopt_all(speaker)
    assert claim_all(speaker) == [uuid]
    speaker.access.ask("rpush", KEY, msgspec.json.encode(entry_of(uuid=uuid, arguments=[])))

    adopt_all(speaker)

    job = speaker.store.find_jobs([uuid])[0]
    assert job is not None
    assert job.state is JobState.RUNNING


def test_of_very_many_dead_letters_the_latest_ten_thousand_are_kept(speaker: Speaker) -> None:
    speaker.access.ask("rpush", KEY, *(f"bad {n}" for n in range(10_040)))

    adopt_all(speaker)

    kept = [letter["entry"] for letter in dead_letters(speaker)]
    assert kept == [f"bad {n}" for n in range(40, 10_040)]


def test_bad_and_good_entries_keep_their_places(speaker: Speaker) -> None:
    first = push(speaker, 2)
    speaker.access.ask("rpush", KEY, "bad 1", "bad 2")
    second = push(speaker, 2)

    assert speaker.adoption.take(KEY) == 6

    assert claim_all(speaker) == first + second
    assert [letter["entry"] for letter in dead_letters(speaker)] == ["bad 1", "bad 2"]
    assert speaker.store.read_totals(QUEUE).enqueued == 4


def test_when_an_entry_was_pushed_is_believed_unless_it_is_in_the_future(speaker: Speaker) -> None:
    now = speaker.clock.now()
    times = [now - 5_000, now, now + 1, 0, None]
    entries = [entry_of(enqueued_at=time) for time in times]
    speaker.access.ask("rpush", KEY, *map(msgspec.json.encode, entries))

    adopt_all(speaker)

    jobs = speaker.store.find_jobs([str(one["uuid"]) for one in entries])
    assert [job.spec.enqueued_at if job else None for job in jobs] == [now - 5_000, now, now, now, now]


# -- a store that is away ------------------------------------------------------------------------------------------


def be_away() -> None:
    raise StoreUnavailable("the store is away")


@pytest.mark.parametrize("call", ["definitions_version", "list_node_types", "list_job_types"])
def test_a_store_that_is_away_while_a_job_type_is_looked_up_makes_no_dead_letter(store: Store, call: str) -> None:
    faults = Faults(store)
    speaker = Speaker(store, seen=faults.store)
    Speaker(store).definitions.define([NodeType(uuid=QUEUE, name="default")], [job_type()])
    uuids = push(speaker, 1)
    faults.before(call, be_away)

    with pytest.raises(StoreUnavailable):
        speaker.adoption.take(KEY)
    assert (dead_letters(speaker), speaker.access.ask("llen", KEY)) == ([], 1)
    adopt_all(speaker)

    assert claim_all(speaker) == uuids


def test_an_entry_that_is_no_job_waits_while_nobody_can_say_whose_it_is(store: Store) -> None:
    """Or it would be put aside without leaving the job that is looked for as failed."""
    faults = Faults(store)
    speaker = Speaker(store, seen=faults.store)
    Speaker(store).definitions.define([NodeType(uuid=QUEUE, name="default")], [job_type()])
    entry = entry_of(arguments=[])
    speaker.access.ask("rpush", KEY, msgspec.json.encode(entry))
    faults.before("definitions_version", be_away)

    with pytest.raises(StoreUnavailable):
        speaker.adoption.take(KEY)
    assert (dead_letters(speaker), speaker.access.ask("llen", KEY)) == ([], 1)
    adopt_all(speaker)

    assert state_of(speaker.store, str(entry["uuid"])) is JobState.FAILED


def test_a_store_that_is_away_while_a_new_job_type_is_learned_makes_no_dead_letter(store: Store) -> None:
    access = Faults(cast(RedisStore, store).access())
    speaker = Speaker(store, access=cast(RedisAccess, access))
    speaker.definitions.define([NodeType(uuid=QUEUE, name="default")], [])
    speaker.write("job_types", JOB_TYPE, {"uuid": JOB_TYPE, "name": "x", "executor": "log"})
    uuids = push(speaker, 1)
    access.before("ask", lambda: None, be_away)  # the entry is read, and what is defined there is not

    with pytest.raises(StoreUnavailable):
        speaker.adoption.take(KEY)
    assert dead_letters(speaker) == []
    adopt_all(speaker)

    assert claim_all(speaker) == uuids


@pytest.mark.parametrize("is_done", [False, True])
def test_entries_are_taken_once_although_the_store_was_away(store: Store, is_done: bool) -> None:
    access = Faults(cast(RedisStore, store).access())
    speaker = Speaker(store, access=cast(RedisAccess, access))
    speaker.definitions.define([NodeType(uuid=QUEUE, name="default")], [job_type()])
    uuids = push(speaker, 3)
    (access.after if is_done else access.before)("run", be_away)

    with pytest.raises(StoreUnavailable):
        speaker.adoption.take(KEY)
    adopt_all(speaker)

    assert claim_all(speaker) == uuids
    assert speaker.store.read_totals(QUEUE).enqueued == 3
