"""The light scheduler on a store: definitions as its promise says, due tasks on topics, each once."""

import pytest

from rota.clock import ManualClock
from rota.engine.engine import Engine
from rota.engine.schedules.ticker import PAUSE_MS
from rota.engine.topics.light.in_store import StoreScheduler, schedule_name
from rota.engine.topics.light.scheduler import DefinitionQuery
from rota.errors import Conflict, NotFound
from rota.model.schedules.request import ScheduleRequest
from rota.model.topics.light.definition import Action, TaskKey, read_definition
from rota.model.triggers.interval import TimeUnit
from rota.store import Store
from rota.testing import Faults
from tests.conftest import OpenStore
from tests.contract.racing import in_threads
from tests.engine.schedules.installation import MINUTE, START
from tests.engine.topics.light.installation import HOST, LightInstallation
from tests.installation import Installation

TEN_SECONDS = {"timeUnit": "SECONDS", "time": 10}
NEXT = START + 1_000
"""The next exact second after the start of the test, strictly."""


@pytest.fixture
def light(store: Store) -> LightInstallation:
    return LightInstallation(store)


def test_a_task_is_sent_from_the_next_exact_unit_on(light: LightInstallation) -> None:
    light.apply(frequency=TEN_SECONDS, data={"region": "eu"})

    light.pass_time(25_000)

    assert light.instants() == [NEXT, NEXT + 10_000, NEXT + 20_000]
    first = light.sent()[0].record
    assert first.key == {"host": HOST, "name": "report"}
    assert first.value == {
        "host": HOST,
        "name": "report",
        "action": "INSERT",
        "frequency": TEN_SECONDS,
        "topic": "reports",
        "start": NEXT,
        "data": {"region": "eu"},
    }
    assert first.headers == {"message-id": f"{HOST}/report/{NEXT}"}


@pytest.mark.parametrize(
    ("unit", "after_ms"),
    [("MILLISECONDS", 1), ("SECONDS", 1_000), ("MINUTES", 59_000), ("HOURS", 2_759_000), ("DAYS", 6_359_000)],
)
def test_every_unit_has_its_first_instant(light: LightInstallation, unit: str, after_ms: int) -> None:
    light.apply(frequency={"timeUnit": unit, "time": 7})

    light.clock.advance(after_ms - 1)
    light.work()
    assert light.sent() == []

    light.clock.advance(1 + PAUSE_MS)
    light.work()
    assert light.instants()[0] == START + after_ms


def test_a_start_counts_to_the_millisecond(light: LightInstallation) -> None:
    light.apply(frequency=TEN_SECONDS, start=START + 3_777)

    light.pass_time(15_000)

    assert light.instants() == [START + 3_777, START + 13_777]


def test_a_past_start_is_only_the_anchor(light: LightInstallation) -> None:
    light.apply(frequency=TEN_SECONDS, start=START - 104_000)

    light.pass_time(10_000)

    assert light.instants() == [START + 6_000]


def test_a_task_without_a_frequency_is_sent_once_and_forgotten(light: LightInstallation) -> None:
    light.apply(start=START + 5_000)
    assert light.definition() is not None

    light.pass_time(20_000)

    assert light.instants() == [START + 5_000]
    assert light.definition() is None
    assert light.store.list_schedules(limit=9).entries == []
    assert [one.action for one in light.store.list_audit(limit=9) if one.kind == "schedule"] == ["create"]


def test_a_task_without_frequency_and_start_is_sent_at_once(light: LightInstallation) -> None:
    light.apply()

    light.pass_time(2_000)

    assert light.instants() == [START]


def test_a_task_that_is_sent_once_is_sent_also_if_its_start_has_passed_long_ago(light: LightInstallation) -> None:
    light.apply(start=START - 60 * MINUTE)

    light.pass_time(2_000)

    assert light.instants() == [START - 60 * MINUTE]


def test_a_task_that_was_due_while_nobody_was_there_is_sent_afterwards_if_it_is_the_only_one(
    light: LightInstallation,
) -> None:
    light.apply(start=START + 5_000)

    light.clock.advance(24 * 60 * MINUTE)
    light.work()

    assert light.instants() == [START + 5_000]


def test_after_less_than_ten_minutes_all_that_was_due_is_sent(light: LightInstallation) -> None:
    light.apply(frequency=TEN_SECONDS)

    light.clock.advance(5 * MINUTE)
    light.work()

    assert light.instants() == [NEXT + 10_000 * k for k in range(30)]


def test_what_is_older_than_ten_minutes_is_not_sent(light: LightInstallation) -> None:
    light.apply(frequency=TEN_SECONDS)

    light.clock.advance(60 * MINUTE)
    light.work()

    assert light.instants() == [NEXT + 3_000_000 + 10_000 * k for k in range(60)]


def test_the_latest_is_sent_however_old_it_is(light: LightInstallation) -> None:
    light.apply(frequency={"timeUnit": "DAYS", "time": 1}, start=START + MINUTE)

    light.clock.advance(60 * 60 * MINUTE)
    light.work()

    assert light.instants() == [START + MINUTE + 2 * 24 * 60 * MINUTE]


def test_insert_on_a_key_that_is_there_takes_its_place(light: LightInstallation) -> None:
    light.apply(frequency=TEN_SECONDS)
    light.apply(frequency=TEN_SECONDS, topic="others")

    light.pass_time(2_000)

    assert light.instants("others") == [NEXT]
    assert light.sent() == []
    assert len(light.store.list_schedules(limit=9).entries) == 1


def test_the_same_insert_again_changes_nothing(light: LightInstallation) -> None:
    light.apply(frequency=TEN_SECONDS, start=NEXT)
    light.pass_time(1_000)
    light.apply(frequency=TEN_SECONDS, start=NEXT)

    light.pass_time(10_000)

    assert light.instants() == [NEXT, NEXT + 10_000]


def test_update_moves_a_definition_to_another_unit(light: LightInstallation) -> None:
    light.apply(frequency=TEN_SECONDS)
    light.apply(action="UPDATE", frequency={"timeUnit": "MINUTES", "time": 1}, data={"a": "b"})

    light.pass_time(MINUTE)

    assert light.instants() == [START + 59_000]
    definition = light.definition()
    assert definition is not None
    assert (definition.unit, definition.data, definition.action) == (TimeUnit.MINUTES, {"a": "b"}, Action.UPDATE)
    assert light.light.find(DefinitionQuery(HOST, "report", TimeUnit.SECONDS)).definitions == []


@pytest.mark.parametrize("start", [None, START - MINUTE, START])
def test_update_may_have_a_task_sent_at_once(light: LightInstallation, start: int | None) -> None:
    light.apply(frequency=TEN_SECONDS, start=START + MINUTE)
    light.apply(action="UPDATE", start=start)

    light.pass_time(2_000)

    assert light.instants() == [START if start is None else start]
    assert light.definition() is None


def test_update_of_a_periodic_task_may_have_it_sent_once(light: LightInstallation) -> None:
    light.apply(frequency=TEN_SECONDS)
    light.apply(action="UPDATE", start=START + 4_000)

    light.pass_time(30_000)

    assert light.instants() == [START + 4_000]
    assert light.definition() is None


def test_delete_stops_it(light: LightInstallation) -> None:
    light.apply(frequency=TEN_SECONDS)
    light.pass_time(2_000)
    light.light.apply(read_definition({"host": HOST, "name": "report", "action": "DELETE"}))

    light.pass_time(30_000)

    assert light.instants() == [NEXT]
    assert light.definition() is None


@pytest.mark.parametrize("action", ["UPDATE", "DELETE"])
def test_what_is_not_there_cannot_be_changed(light: LightInstallation, action: str) -> None:
    with pytest.raises(NotFound, match=r"task definition 'networknt\.com report'"):
        light.apply(action=action, frequency=TEN_SECONDS)

    assert light.store.list_schedules(limit=9).entries == []


@pytest.mark.parametrize("action", ["UPDATE", "DELETE"])
def test_a_task_that_was_sent_for_the_last_time_cannot_be_changed(light: LightInstallation, action: str) -> None:
    light.apply()
    light.clock.advance(1)
    light.tick()  # its job is not run yet

    with pytest.raises(NotFound):
        light.apply(action=action, frequency=TEN_SECONDS)


def test_a_key_can_be_used_again_before_the_last_task_was_sent(light: LightInstallation) -> None:
    light.apply()
    light.clock.advance(1)
    light.tick()
    light.apply(frequency=TEN_SECONDS)

    light.pass_time(2_000)

    assert light.instants() == [START, NEXT]
    assert light.definition() is not None


def test_hosts_have_names_of_their_own(light: LightInstallation) -> None:
    light.apply(host="a.com", frequency=TEN_SECONDS)
    light.apply(host="b.com", frequency={"timeUnit": "SECONDS", "time": 5})

    light.apply(host="a.com", action="DELETE")

    assert light.definition(host="a.com") is None
    assert light.definition(host="b.com") is not None


def test_a_task_is_sent_once_however_often_its_job_is_tried(light: LightInstallation) -> None:
    light.apply(frequency=TEN_SECONDS)
    light.clock.advance(1_000)
    light.tick()
    (claim,) = light.claim()

    for _ in range(3):
        assert light.send(claim.spec).results == {"topic": "reports", "offset": 0}

    assert light.instants() == [NEXT]


def test_a_definition_says_its_start(light: LightInstallation) -> None:
    light.apply(frequency=TEN_SECONDS)
    light.pass_time(15_000)

    definition = light.definition()

    assert definition is not None
    assert definition.start == NEXT


@pytest.mark.parametrize(
    ("query", "found"),
    [
        (DefinitionQuery(), ["a", "b", "once", "other"]),
        (DefinitionQuery(HOST), ["a", "b", "once"]),
        (DefinitionQuery(HOST, "a"), ["a"]),
        (DefinitionQuery(HOST, "a", TimeUnit.SECONDS), ["a"]),
        (DefinitionQuery(HOST, "a", TimeUnit.DAYS), []),
        (DefinitionQuery(HOST, "once", TimeUnit.DAYS), ["once"]),
        (DefinitionQuery(HOST, "c"), []),
        (DefinitionQuery(unit=TimeUnit.DAYS), ["b", "once"]),
    ],
)
def test_definitions_are_found(light: LightInstallation, query: DefinitionQuery, found: list[str]) -> None:
    light.apply(name="a", frequency=TEN_SECONDS)
    light.apply(name="b", frequency={"timeUnit": "DAYS", "time": 1})
    light.apply(name="once", start=START + MINUTE)
    light.apply(name="other", host="other.com", frequency=TEN_SECONDS)

    assert [one.name for one in light.light.find(query).definitions] == found


def test_definitions_are_found_page_by_page(light: LightInstallation) -> None:
    for number in range(5):
        light.apply(name=f"n{number}", frequency=TEN_SECONDS)

    names, cursor = [], None
    for _ in range(3):
        page = light.light.find(DefinitionQuery(limit=2, cursor=cursor))
        names += [one.name for one in page.definitions]
        cursor = page.cursor

    assert names == [f"n{number}" for number in range(5)]
    assert cursor is None


def test_a_schedule_that_somebody_made_is_no_definition(light: LightInstallation) -> None:
    light.apply(name="a", frequency=TEN_SECONDS)
    light.schedule(name="light/networknt.com/report", job_type="rota.light", cron="* * * * *")

    with pytest.raises(Conflict, match="is no task definition"):
        light.apply(frequency=TEN_SECONDS)

    assert [one.name for one in light.light.find(DefinitionQuery()).definitions] == ["a"]


def test_the_schedule_of_a_definition_is_paused_but_not_edited(light: LightInstallation) -> None:
    light.apply(frequency=TEN_SECONDS)
    name = schedule_name(TaskKey(HOST, "report"))

    with pytest.raises(Conflict, match="POST /schedulers"):
        light.schedules.replace(name, ScheduleRequest(job_type="rota.light", cron="* * * * *"))
    light.schedules.pause(name)
    light.pass_time(15_000)
    light.schedules.resume(name)
    light.pass_time(10_000)

    assert light.instants() == [NEXT + 20_000]
    assert light.definition() is not None


def test_nothing_was_defined_yet(installation: Installation) -> None:
    light = StoreScheduler(installation.engine)

    assert light.find(DefinitionQuery()).definitions == []
    assert light.find(DefinitionQuery(HOST, "report")).definitions == []

    light.apply(read_definition({"host": HOST, "name": "report", "topic": "t"}))
    assert len(light.find(DefinitionQuery()).definitions) == 1


@pytest.mark.parametrize("name", ["ein Bericht über alles", "a/b", "x" * 256, "%41", "é"])
def test_any_text_is_a_name(light: LightInstallation, name: str) -> None:
    light.apply(name=name, frequency=TEN_SECONDS)

    light.pass_time(1_000)

    definition = light.definition(name)
    assert definition is not None
    assert definition.name == name
    assert len(light.sent()) == 1


def test_no_two_keys_have_the_same_schedule() -> None:
    keys = [TaskKey("a", "b/c"), TaskKey("a/b", "c"), TaskKey("a", "b c"), TaskKey("a b", "c"), TaskKey("a", "bc")]

    assert len({schedule_name(key) for key in keys}) == len(keys)


@pytest.mark.parametrize(
    ("key", "name"),
    [
        (TaskKey("a.com", "n"), "light/a.com/n"),
        (TaskKey("a.com", "n/m:1"), "light/a.com/n/m:1"),
        (TaskKey("a", "n" * 98), f"light/a/{'n' * 98}"),
        (TaskKey("a", "n" * 99), "light:da492b45a52079371d47efacd55b26bc"),
        (TaskKey("a/b", "c"), "light:e035bccfa456b8fc1c1f937673f43cee"),
        (TaskKey("a", "b c"), "light:8c76884296cd4981663dd1413a7bca4f"),
    ],
)
def test_a_key_has_the_schedule_that_it_always_had(key: TaskKey, name: str) -> None:
    """Under another name, a new version would leave the old schedule to go on, and each task would be sent twice."""
    assert schedule_name(key) == name


def test_commands_at_the_same_time_leave_one_definition(store: Store, open_again: OpenStore) -> None:
    installations = [LightInstallation(store), LightInstallation(open_again()), LightInstallation(open_again())]

    in_threads(lambda number: installations[number].apply(frequency=TEN_SECONDS, topic=f"t{number}"), 3)

    (entry,) = store.list_schedules(limit=9).entries
    assert entry.schedule.arguments["topic"] in {"t0", "t1", "t2"}


class RunningClock(ManualClock):
    """A clock that goes on with every look, as real ones do."""

    def now(self) -> int:
        self.advance(3)
        return super().now()


@pytest.mark.parametrize("action", ["INSERT", "UPDATE"])
def test_time_goes_on_while_a_command_is_carried_out(store: Store, action: str) -> None:
    light = LightInstallation(store, RunningClock(START))
    if action == "UPDATE":
        light.apply(frequency=TEN_SECONDS, start=START + MINUTE)

    light.apply(action=action)

    light.pass_time(2_000)
    assert len(light.sent()) == 1


def test_a_changed_definition_is_as_old_as_it_was(light: LightInstallation) -> None:
    light.apply(frequency=TEN_SECONDS)
    light.clock.advance(MINUTE)

    light.apply(action="UPDATE", frequency=TEN_SECONDS)

    (entry,) = light.store.list_schedules(limit=9).entries
    assert entry.schedule.created_at == START


def racing(light: LightInstallation) -> tuple[StoreScheduler, Faults]:
    """Another process on the same store, in whose commands others can get in between."""
    faults = Faults(light.store)
    return StoreScheduler(Engine(faults.store, light.clock)), faults


def test_an_update_that_meets_a_deletion_is_not_found_and_makes_nothing(light: LightInstallation) -> None:
    light.apply(frequency=TEN_SECONDS)
    other, faults = racing(light)
    faults.after("find_schedules", lambda: light.apply(action="DELETE"))

    with pytest.raises(NotFound):
        other.apply(read_definition({"host": HOST, "name": "report", "topic": "others", "action": "UPDATE"}))

    assert light.store.list_schedules(limit=9).entries == []


def test_an_insert_that_meets_a_deletion_or_another_insert_is_carried_out_all_the_same(
    light: LightInstallation,
) -> None:
    light.apply(frequency=TEN_SECONDS)
    other, faults = racing(light)
    insert = read_definition({"host": HOST, "name": "report", "topic": "others", "frequency": TEN_SECONDS})

    faults.after("find_schedules", lambda: light.apply(action="DELETE"))
    other.apply(insert)
    light.apply(action="DELETE")
    faults.after("schedule_uuid", lambda: light.apply(frequency=TEN_SECONDS))
    other.apply(insert)

    assert not faults.awaits("schedule_uuid")
    light.pass_time(1_000)
    assert (light.instants("others"), light.sent()) == ([NEXT], [])


def test_a_command_that_loses_again_and_again_is_given_up_with_a_conflict(light: LightInstallation) -> None:
    other, faults = racing(light)
    insert = read_definition({"host": HOST, "name": "report", "topic": "others", "frequency": TEN_SECONDS})

    def come_and_go() -> None:
        """Just before it is looked at there is none; just before one is made there is another one."""
        light.apply(frequency=TEN_SECONDS)

    faults.before("schedule_uuid", *[lambda: clear(light)] * 5)
    faults.after("schedule_uuid", *[come_and_go] * 5)

    with pytest.raises(Conflict, match=r"the task definition networknt\.com report changes too often"):
        other.apply(insert)

    assert not faults.awaits("schedule_uuid"), "it was tried five times"


def clear(light: LightInstallation) -> None:
    if light.definition() is not None:
        light.apply(action="DELETE")
