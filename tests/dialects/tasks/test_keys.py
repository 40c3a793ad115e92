"""The keys in Redis, looked at round by round: what is shown of tasks there, and what is taken from there."""

from collections.abc import Callable

import msgspec
import pytest

from rota.dialects.tasks.cleaning import clean
from rota.dialects.tasks.redis import inlet, keeper
from rota.dialects.tasks.redis.expiries import Expiries
from rota.dialects.tasks.redis.foreign import MAX_BYTES
from rota.dialects.tasks.redis.inlet import PATIENCE_MS
from rota.dialects.tasks.redis.keeper import KeptKeys, KeyKeeper, TaskKeys
from rota.dialects.tasks.redis.mirror import MOST_COMPLETED
from rota.engine.node.dialect import DialectContext
from rota.model.triggers.durations import DAY_MS
from rota.store import Store
from rota.store.redis.store import RedisStore
from tests.dialects.tasks.installation import TasksInstallation
from tests.engine.working import wait_until

pytestmark = pytest.mark.stores("redis")  # the keys have no place elsewhere


class Seen(TasksInstallation):
    """Tasks, and what another program sees of them and does to them."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        assert isinstance(store, RedisStore)
        self.access = store.access()
        self.kept = KeptKeys(self.access, self.engine, self.tasks.names)
        self.tasks.shown = self.kept.mirror

    def look(self, *expired: str) -> None:
        """One round of the node that keeps the keys, which heard of the end of these."""
        self.kept.bring_up_to_date(list(expired), self.clock.now())

    def put(self, id: str, **fields: object) -> None:
        self.put_text(id, msgspec.json.encode({"id": id, **fields}))

    def put_text(self, id: str, text: bytes) -> None:
        self.access.ask("set", f"task:{id}", text)

    def push(self, key: str, *values: str) -> None:
        self.access.ask("rpush", key, *values)

    def listed(self, key: str) -> list[str]:
        return [one.decode() for one in self.access.ask("lrange", key, 0, -1)]

    def exists(self, *keys: str) -> int:
        return int(self.access.ask("exists", *keys))

    def letters(self) -> list[dict[str, object]]:
        return [msgspec.json.decode(one) for one in self.listed("rota:tasks::dead")]

    def told(self, caplog: pytest.LogCaptureFixture, words: str) -> list[object]:
        """What the log says of something: the task, or None, of each time."""
        return [vars(one).get("task") for one in caplog.records if words in one.message]


@pytest.fixture
def seen(store: Store) -> Seen:
    return Seen(store)


# What is shown


def test_a_task_that_ended_while_nobody_kept_the_keys_is_shown_as_completed_once(seen: Seen) -> None:
    seen.add("a", data=1, delay=0)
    seen.run(takes=250)

    seen.look()
    seen.look()

    (shown,) = [msgspec.json.decode(one) for one in seen.listed("tasks:completed")]
    assert (shown["id"], shown["status"], shown["runs"], shown["executionTime"]) == ("a", "completed", 1, 250)
    assert seen.exists("task:a", "queue", "tasks:ids", "tasks:active") == 0


def test_a_task_whose_end_was_told_late_is_shown_as_it_ended(seen: Seen) -> None:
    """Its node was cut off; another run, which ended after it, was told of before it."""
    for id in ("good", "bad"):
        seen.add(id, delay=0, maxTries=1)
    good, bad = seen.claim(2)
    late = [seen.settle(good)[1], seen.settle(bad, error="no")[1]]
    seen.look()
    assert seen.listed("tasks:active") == ["good", "bad"]
    seen.clock.advance(10_000)
    seen.add("another", delay=0)
    seen.run()
    seen.look()

    seen.store.finish_jobs(seen.tasks.queue(), late, now=seen.clock.now())
    seen.tasks.remove_completed(["good"])
    seen.look()

    assert [msgspec.json.decode(one)["id"] for one in seen.listed("tasks:completed")] == ["another", "good"]
    assert (seen.listed("tasks:failed"), seen.listed("tasks:active")) == (["bad"], [])


def test_runs_are_shown_as_they_ended_when_a_clock_that_was_ahead_is_right_again(seen: Seen) -> None:
    seen.clock.advance(DAY_MS)
    seen.add("before", delay=0)
    seen.run()
    seen.look()

    seen.clock.set(seen.clock.now() - DAY_MS)
    seen.add("after", delay=0)
    seen.run()
    seen.look()

    assert [msgspec.json.decode(one)["id"] for one in seen.listed("tasks:completed")] == ["before", "after"]


def test_a_task_that_was_removed_without_being_hidden_is_shown_no_more_after_two_looks(seen: Seen) -> None:
    for id in ("gone", "stays"):
        seen.add(id, delay=60_000)
    seen.engine.program_schedules.forget([seen.tasks.names.schedule_uuid("gone")])

    seen.look()
    assert seen.listed("tasks:ids") == ["gone", "stays"], "whoever adds it may be on the way"
    seen.look()

    assert seen.listed("tasks:ids") == ["stays"]
    assert seen.exists("task:gone") == 0


def test_a_task_that_was_there_in_between_has_two_looks_again(seen: Seen) -> None:
    uuid = seen.tasks.names.schedule_uuid("a")
    for _ in range(2):
        seen.add("a", delay=60_000)
        seen.look()
        seen.engine.program_schedules.forget([uuid])
        seen.look()
        assert seen.listed("tasks:ids") == ["a"]


def test_a_task_that_is_removed_while_it_runs_is_shown_until_its_run_has_ended(seen: Seen) -> None:
    seen.add("a", delay=0)
    seen.claim()
    seen.look()
    seen.engine.program_schedules.forget([seen.tasks.names.schedule_uuid("a")])

    for _ in range(3):
        seen.look()

    assert seen.listed("tasks:active") == ["a"]


def test_a_task_whose_next_try_is_due_is_shown_in_the_queue_though_nobody_takes_it(seen: Seen) -> None:
    seen.add("a", delay=0)
    seen.run(error="no")
    seen.look()
    assert (seen.find().status, seen.listed("queue")) == ("delayed", [])

    seen.clock.advance(60_000)
    seen.look()

    assert (seen.find().status, seen.listed("queue")) == ("enqueued", ["a"])


def test_whoever_adds_a_task_does_not_show_it_over_what_became_of_it_meanwhile(seen: Seen) -> None:
    added = seen.add("a", delay=60_000)
    seen.tasks.run_now("a")
    seen.claim()
    seen.look()

    seen.kept.mirror.show(added, is_new=True)

    assert seen.listed("tasks:active") == ["a"]
    assert msgspec.json.decode(seen.access.ask("get", "task:a"))["status"] == "active"
    seen.kept.mirror.show(added)
    assert seen.listed("tasks:active") == [], "whoever knows it to be so shows it over anything"


def test_the_run_of_a_deleted_task_leaves_nothing_in_the_keys(seen: Seen) -> None:
    seen.add("a", delay=0)
    claim = seen.claim()[0]
    seen.look()
    assert seen.listed("tasks:active") == ["a"]
    seen.engine.program_schedules.forget([seen.tasks.names.schedule_uuid("a")])

    seen.end(claim, error="no")
    seen.engine.jobs.cancel_each([claim.spec.id])
    seen.look()

    assert seen.exists("task:a", "tasks:active", "tasks:ids", "tasks:completed") == 0


def test_of_the_completed_tasks_the_latest_thousand_are_kept(seen: Seen) -> None:
    assert MOST_COMPLETED == 1_000
    seen.push("tasks:completed", *(f"{number}" for number in range(1_000)))
    seen.add("a", delay=0)
    seen.run()

    seen.look()

    listed = seen.listed("tasks:completed")
    assert (len(listed), listed[0], listed[-2]) == (1_000, "1", "999")


def test_what_is_shown_of_a_task_says_when_it_ran_when_it_runs_and_how_it_failed(seen: Seen) -> None:
    seen.add("a", schedule=60_000, maxRuns=5, maxTries=3, tz="Europe/Berlin", delay=0)
    seen.run(takes=250)
    seen.pass_time(60_000)
    seen.run(takes=250, error="no")

    seen.look()

    shown = msgspec.json.decode(seen.access.ask("get", "task:a"))
    assert (shown["key"], shown["queue"], shown["status"]) == ("task:a", "queue", "delayed")
    assert (shown["runs"], shown["maxRuns"], shown["maxTries"], shown["reschedule"]) == (1, 5, 3, 5)
    assert shown["scheduleOptions"] == {"utc": False, "tz": "Europe/Berlin"}
    assert (shown["lastRun"], shown["nextRun"]) == ("2023-11-14T22:15:01.500Z", "2023-11-14T22:15:02.000Z")
    assert (shown["errorCount"], shown["errors"]) == (1, [{"code": 599, "message": "no", "ts": seen.clock.now()}])


def test_that_others_use_the_keys_is_told_once(seen: Seen, caplog: pytest.LogCaptureFixture) -> None:
    seen.access.ask("set", "queue", "mine")

    for id in ("a", "b"):
        seen.add(id, delay=0)
        seen.look()

    assert len(seen.told(caplog, "give tasks a prefix")) == 1
    assert seen.run() is not None


# What others put there


def test_whoever_pushes_an_id_before_its_task_has_five_seconds_for_the_task(seen: Seen) -> None:
    assert PATIENCE_MS == 5_000
    seen.push("queue", "slow", "never")
    seen.look()
    seen.clock.advance(4_999)
    seen.look()
    assert seen.letters() == []

    seen.put("slow")
    seen.clock.advance(1)
    seen.look()

    letter = {"id": "never", "reason": "task: there is no task:never", "time": seen.clock.now()}
    assert seen.letters() == [letter]
    assert seen.listed("queue") == ["slow"]
    assert (ran := seen.run()) is not None
    assert ran.id == "slow"


def test_an_id_that_is_pushed_again_later_has_its_time_anew(seen: Seen) -> None:
    seen.push("queue", "a")
    seen.look()
    seen.access.ask("delete", "queue")
    seen.clock.advance(5_000)
    seen.look()

    seen.push("queue", "a")
    seen.look()

    assert seen.letters() == []


def test_of_the_letters_only_the_latest_are_kept(seen: Seen, monkeypatch: pytest.MonkeyPatch) -> None:
    assert inlet.MOST_DEAD == 10_000
    monkeypatch.setattr(inlet, "MOST_DEAD", 2)
    for id in ("a", "b", "c"):
        seen.put_text(id, b"{")
        seen.push("queue", id)

    seen.look()

    assert [letter["id"] for letter in seen.letters()] == ["b", "c"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"{", "task: is no JSON"),
        (b"[]", "task: must be an object, got list"),
        (b'{"data": "%s"}' % (b"x" * MAX_BYTES), f"task: is {MAX_BYTES + 12} bytes, the limit is 262144"),
        (b'{"data": "%s"}' % (b"x" * 200 * 1024), "data: "),
        (b'{"runs": -1}', "runs: must be from 0"),
    ],
)
def test_what_is_no_task_is_put_aside_with_the_reason(seen: Seen, text: bytes, reason: str) -> None:
    seen.put_text("a", text)
    seen.push("queue", "a")

    seen.look()

    assert [str(letter["reason"])[: len(reason)] for letter in seen.letters()] == [reason]
    assert seen.listed("queue") == []
    assert seen.tasks.find("a") is None


def test_a_stored_task_has_the_id_of_its_key(seen: Seen) -> None:
    seen.put_text("a", b'{"id": "b", "data": 1}')
    seen.push("queue", "a")

    seen.look()

    assert seen.find("a").data == 1
    assert seen.tasks.find("b") is None


def test_pushing_the_id_of_a_task_that_runs_or_failed_changes_nothing(seen: Seen) -> None:
    seen.add("failed", maxTries=1, delay=0)
    seen.run(error="no")
    seen.add("runs", delay=0)
    seen.claim()
    seen.look()

    seen.push("queue", "failed", "runs")
    seen.look()

    assert seen.listed("queue") == []
    assert (seen.find("failed").status, seen.find("runs").status) == ("failed", "active")
    assert (seen.listed("tasks:failed"), seen.listed("tasks:active")) == (["failed"], ["runs"])


def test_pushing_the_id_of_a_task_that_is_gone_takes_it_from_the_keys(seen: Seen) -> None:
    seen.add("a", delay=60_000)
    seen.engine.program_schedules.forget([seen.tasks.names.schedule_uuid("a")])
    seen.push("queue", "a")

    seen.look()

    assert seen.exists("queue", "task:a", "tasks:ids") == 0
    assert seen.letters() == []


def test_a_stored_task_whose_ttl_has_ended_is_taken_at_once_and_another_that_is_none_stops_nobody(
    seen: Seen, caplog: pytest.LogCaptureFixture
) -> None:
    seen.put("a")
    seen.put_text("broken", b"{")

    seen.look("task:broken:ttl", "task:nothing:ttl", "somebody:else", "task:a:ttl")

    assert seen.listed("tasks:ids") == ["a"]
    assert seen.told(caplog, "cannot be taken") == ["broken"]
    assert (ran := seen.run()) is not None
    assert ran.id == "a"


def test_the_end_of_a_ttl_of_rotas_own_changes_nothing(seen: Seen) -> None:
    seen.add("a", delay=60_000)

    seen.look("task:a:ttl")

    assert seen.find().status == "delayed"
    assert seen.run() is None


def test_a_stored_task_that_waits_for_nothing_is_taken_after_five_seconds(seen: Seen) -> None:
    seen.put("a", expire=1, reschedule=False)
    seen.look()
    seen.clock.advance(4_999)
    seen.look()
    assert seen.tasks.find("a") is None, "its ttl may be on the way"

    seen.clock.advance(1)
    seen.look()

    assert seen.find().status == "enqueued"


@pytest.mark.parametrize("key", ["tasks:active", "tasks:failed"])
def test_a_stored_task_that_others_have_in_a_list_is_left_to_them(seen: Seen, key: str) -> None:
    seen.put("a", expire=1, reschedule=False)
    seen.push(key, "a")

    for _ in range(3):
        seen.look()
        seen.clock.advance(PATIENCE_MS)

    assert seen.tasks.find("a") is None
    assert seen.listed(key) == ["a"]


def test_what_says_that_it_is_something_else_is_not_taken_for_a_task(seen: Seen) -> None:
    seen.put_text("a", b'{"id": "b", "schedule": 60000}')

    for _ in range(3):
        seen.look()
        seen.clock.advance(PATIENCE_MS)

    assert (seen.tasks.find("a"), seen.tasks.find("b")) == (None, None)


def test_a_task_that_others_have_listed_already_is_listed_once(seen: Seen) -> None:
    seen.put("a")
    seen.push("tasks:ids", "a", "a")

    seen.look("task:a:ttl")

    assert seen.listed("tasks:ids") == ["a"]


def test_of_tasks_of_others_that_come_and_go_nothing_is_kept(seen: Seen) -> None:
    for id in ("taken", "gone"):
        seen.put(id, schedule=60_000)
        seen.access.ask("set", f"task:{id}:ttl", f"task:{id}", px=60_000)
    seen.look()

    seen.access.ask("delete", "task:gone", "task:gone:ttl", "task:taken:ttl")
    seen.look("task:taken:ttl")
    for _ in range(2):
        seen.look()

    assert seen.find("taken").status == "enqueued"
    strays = seen.kept._strays
    assert strays._had_ttl | strays._now_had_ttl | strays._since.keys() | strays._now_since.keys() == set()


# Cleaning


def test_cleaning_leaves_a_failed_task_of_another_program_to_whoever_brings_it_back(seen: Seen) -> None:
    seen.put("a")
    seen.push("tasks:failed", "a")

    found = clean(seen.tasks)

    assert (found.tasks, found.adopted, found.dropped) == (0, 0, 0)
    assert seen.listed("tasks:failed") == ["a"]
    assert seen.tasks.find("a") is None


def test_cleaning_says_what_cannot_be_taken_and_does_not_count_it(seen: Seen, caplog: pytest.LogCaptureFixture) -> None:
    seen.put_text("broken", b"{")
    seen.access.ask("hset", "task:hash", "a", "b")
    seen.put("good")

    found = clean(seen.tasks)

    assert (found.tasks, found.adopted) == (1, 1)
    assert sorted(map(str, seen.told(caplog, "cannot be taken"))) == ["broken", "hash"]


@pytest.mark.parametrize("key", ["tasks:ids", "tasks:active", "tasks:failed"])
def test_cleaning_drops_ids_that_have_no_task_from_every_list(seen: Seen, key: str) -> None:
    seen.add("known", delay=60_000)
    seen.access.ask("delete", key)
    seen.push(key, "nothing", "known", "nothing")

    assert clean(seen.tasks).dropped == 1

    assert seen.listed(key) == ["known"]


def test_cleaning_shows_a_task_again_whose_key_somebody_deleted(seen: Seen) -> None:
    seen.add("known", delay=60_000)
    seen.access.ask("delete", "task:known")

    assert clean(seen.tasks).dropped == 0

    assert (seen.listed("tasks:ids"), seen.exists("task:known")) == (["known"], 1)


def test_cleaning_keeps_the_latest_thousand_completed_tasks_and_counts_the_others(seen: Seen) -> None:
    assert clean(seen.tasks).trimmed == 0
    seen.push("tasks:completed", *(f"{number}" for number in range(1_003)))

    assert clean(seen.tasks).trimmed == 3

    listed = seen.listed("tasks:completed")
    assert (len(listed), listed[0], listed[-1]) == (1_000, "3", "1002")


# Nodes


def test_the_keys_are_kept_by_one_node_at_a_time(seen: Seen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeper, "_TURN_MS", 600_000)  # the machine may be slow

    ear = Expiries(seen.access)

    def keeping(node: str) -> Callable[[], float]:
        made = KeyKeeper(seen.access, seen.engine, node, ear)
        return lambda: made.run_once(seen.clock.now())

    first, second = keeping("first"), keeping("second")
    assert first() == 1.0, "there are no tasks yet"
    seen.add("a", delay=60_000)
    assert first() == 0.25
    seen.put_text("b", b"{")
    seen.push("queue", "b")

    second()
    assert seen.letters() == []
    first()

    assert [letter["id"] for letter in seen.letters()] == ["b"]
    ear.close()


@pytest.mark.parametrize(("roles", "duties"), [({"worker"}, 1), ({"scheduler"}, 1), ({"server"}, 0)])
def test_nodes_that_run_tasks_or_fire_them_keep_the_keys(seen: Seen, roles: set[str], duties: int) -> None:
    context = DialectContext(engine=seen.engine, node="a node", node_type="tasks", roles=frozenset(roles))

    assert len(TaskKeys(seen.access).join(context)) == duties


def test_each_key_that_expired_is_heard_of_once_also_by_whoever_listens_anew(seen: Seen) -> None:
    ear = Expiries(seen.access)

    assert _hear(seen, ear, "a", "a", "b") == ["a", "b"]
    ear.close()
    assert _hear(seen, ear, "c", "d") == ["c", "d"]
    ear.close()


def _hear(seen: Seen, ear: Expiries, *keys: str) -> list[str]:
    """What it hears when these expire in one moment."""
    heard: list[str] = []

    def hears(last: str) -> bool:
        heard.extend(ear.heard())
        return last in heard

    ear.heard()
    wait_until(lambda: _publish(seen, "ready") and hears("ready"), "it to listen")
    for key in keys:
        _publish(seen, key)
    wait_until(lambda: hears(keys[-1]), "the last of them")
    return [key for key in heard if key != "ready"]


def _publish(seen: Seen, key: str) -> int:
    return int(seen.access.ask("publish", "__keyevent@0__:expired", key))
