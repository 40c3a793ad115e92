"""Definitions among Synchrony's keys and in Rota. Only on a single Redis: no other store has these keys."""

import logging
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest
from msgspec import structs

from rota.dialects.synchrony import exchange
from rota.dialects.synchrony.shapes import plain_name
from rota.engine.definitions.file_types import FileTypes
from rota.errors import NotFound, StoreUnavailable
from rota.model.job_type import JobType, OnNodeDeath, Unique
from rota.model.limits import is_name
from rota.model.node import Node, NodeType
from rota.model.schedules.request import ScheduleRequest
from rota.settings.definitions import FILE_OWNER
from rota.store import Store
from rota.store.redis.link.access import RedisAccess
from rota.store.redis.store import RedisStore
from rota.testing import Faults
from tests.contract.building import beat
from tests.contract.raw_records import change_records
from tests.dialects.synchrony.speaking import Speaker

pytestmark = pytest.mark.stores("redis")

NODE_TYPE = "1bd2bf95-868a-4212-8a0a-82c7f442848e"
JOB_TYPE = "80d1c95a-a9cc-4dbb-a3fb-ff0f6b7d2c06"
SCHEDULE = "b30833c1-83b0-4dda-a439-97e3c97bbaa5"
OTHER = "0190b8a4-0000-7000-8000-000000000001"
THIRD = "0190b8a4-0000-7000-8000-000000000002"


@pytest.fixture
def speaker(store: Store) -> Speaker:
    return Speaker(store)


def node_type_record(**fields: object) -> dict[str, object]:
    return {"name": "gpu", "uuid": NODE_TYPE, "thread_count": 2, **fields}


def job_type_record(**fields: object) -> dict[str, object]:
    record = {"uuid": JOB_TYPE, "name": "test_job", "executor": "bash", "metadata": {"command": "ls -l /"}}
    return record | {"unique": False, "node_type": "gpu", "timeout": None, **fields}


def schedule_record(**fields: object) -> dict[str, object]:
    record = {"uuid": SCHEDULE, "interval": 60_000, "last_scheduled_by": None, "last_scheduled_at": None}
    return record | {"job_type_uuid": JOB_TYPE, "job_arguments": {"a": 1, "b": 2}, **fields}


def write_all(speaker: Speaker) -> None:
    speaker.write("node_types", "gpu", node_type_record())
    speaker.write("job_types", JOB_TYPE, job_type_record())
    speaker.write("schedule_items", SCHEDULE, schedule_record())
    speaker.round()


def define_natively(speaker: Speaker) -> None:
    speaker.definitions.define(
        [NodeType(uuid=NODE_TYPE, name="gpu", thread_count=2)],
        [
            JobType(
                uuid=JOB_TYPE,
                name="test_job",
                executor="bash",
                metadata={"command": ["ls"], "environment": {}},
                unique=Unique.WHILE_RUNNING,
                node_type="gpu",
                timeout_ms=7,
            )
        ],
    )


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [str(record.__dict__["reason"]) for record in caplog.records if record.levelno == logging.WARNING]


# -- from there to here --------------------------------------------------------------------------------------------


def test_what_is_defined_there_is_defined_here_and_belongs_to_them(speaker: Speaker) -> None:
    write_all(speaker)

    owner = "synchrony"
    assert speaker.store.list_node_types() == [NodeType(uuid=NODE_TYPE, name="gpu", thread_count=2, managed_by=owner)]
    assert speaker.store.list_job_types() == [
        JobType(
            uuid=JOB_TYPE,
            name="test_job",
            executor="bash",
            metadata={"command": "ls -l /"},
            node_type="gpu",
            managed_by=owner,
        )
    ]
    schedule = speaker.schedules.find(SCHEDULE).schedule
    assert (schedule.queue, schedule.job_type, schedule.managed_by) == (NODE_TYPE, JOB_TYPE, owner)
    assert schedule.arguments == {"a": 1, "b": 2}


def test_an_item_goes_on_from_when_it_was_last_scheduled_there(speaker: Speaker) -> None:
    """An instant to come, of a clock that is ahead, is taken for now."""
    now = speaker.clock.now()
    write_all(speaker)
    items = {SCHEDULE: None, OTHER: now - 50_000, THIRD: now + 3_600_000}
    for uuid, last in items.items():
        speaker.write("schedule_items", uuid, schedule_record(uuid=uuid, last_scheduled_at=last))
    speaker.round()

    states = [entry.state for uuid in (OTHER, THIRD) if (entry := speaker.schedules.find(uuid))]
    assert [state.last_scheduled_at for state in states] == [now - 50_000, speaker.clock.now()]
    assert [state.nominal for state in states] == [now + 10_000, speaker.clock.now() + 60_000]


def test_a_node_type_may_stand_under_its_uuid_too(speaker: Speaker) -> None:
    speaker.write("node_types", NODE_TYPE, node_type_record())
    speaker.round()
    speaker.definitions.define_node_type(structs.replace(speaker.definitions.node_type("gpu"), thread_count=9))
    speaker.round()

    assert speaker.shown("node_types") == {NODE_TYPE: node_type_record(thread_count=9)}


def test_a_change_there_is_a_change_here_and_keeps_what_the_seed_has_no_words_for(speaker: Speaker) -> None:
    write_all(speaker)
    known = speaker.definitions.job_type(JOB_TYPE)
    speaker.definitions.define_job_type(
        structs.replace(known, on_node_death=OnNodeDeath.FAIL, unique=Unique.WHILE_PENDING)
    )
    speaker.round()

    speaker.write("job_types", JOB_TYPE, job_type_record(timeout=5000, name="renamed"))
    speaker.write("schedule_items", SCHEDULE, schedule_record(interval=1000))
    speaker.round()

    found = speaker.definitions.job_type("renamed")
    assert (found.uuid, found.timeout_ms) == (JOB_TYPE, 5000)
    assert (found.on_node_death, found.unique) == (OnNodeDeath.FAIL, Unique.WHILE_PENDING)
    assert speaker.shown("schedule_items")[SCHEDULE]["interval"] == 1000


def test_a_renamed_node_type_is_the_same_one(speaker: Speaker) -> None:
    speaker.write("node_types", "gpu", node_type_record())
    speaker.round()

    speaker.erase("node_types", "gpu")
    speaker.write("node_types", "big", node_type_record(name="big"))
    speaker.round()

    assert [(one.uuid, one.name) for one in speaker.store.list_node_types()] == [(NODE_TYPE, "big")]
    assert speaker.shown("node_types") == {"big": node_type_record(name="big")}


def test_what_is_removed_there_is_removed_here_whatever_the_order(speaker: Speaker) -> None:
    write_all(speaker)

    speaker.erase("node_types", "gpu")
    speaker.erase("job_types", JOB_TYPE)
    speaker.erase("schedule_items", SCHEDULE)
    speaker.round()

    assert speaker.store.list_job_types() == []
    assert speaker.store.list_node_types() == []
    with pytest.raises(NotFound):
        speaker.schedules.find(SCHEDULE)


def test_nobody_is_told_of_what_only_had_to_wait_for_its_turn(
    speaker: Speaker, caplog: pytest.LogCaptureFixture
) -> None:
    write_all(speaker)
    for key, field in (("node_types", "gpu"), ("job_types", JOB_TYPE), ("schedule_items", SCHEDULE)):
        speaker.erase(key, field)

    speaker.round()

    assert speaker.store.list_node_types() == []
    assert warnings(caplog) == []


@pytest.mark.parametrize(
    ("theirs", "ours"), [("Nightly (EU)", "Nightly (EU)"), ("\tnew\n", "new-"), ("./run", "run"), ("", "_")]
)
def test_a_name_is_kept_where_it_can_be(theirs: str, ours: str) -> None:
    assert plain_name(theirs) == ours


@pytest.mark.parametrize("theirs", ["\n" * 5, "./-", "é " * 300, "a\tb" * 200])
def test_whatever_name_stands_there_is_made_one_that_can_be(theirs: str) -> None:
    assert is_name(plain_name(theirs))


def test_names_there_need_not_be_unique_nor_plain(speaker: Speaker) -> None:
    speaker.write("node_types", "gpu", node_type_record())
    for uuid in (JOB_TYPE, OTHER):
        speaker.write("job_types", uuid, job_type_record(uuid=uuid, name="my job (new)"))
    speaker.round()

    names = {one.uuid: one.name for one in speaker.store.list_job_types()}
    assert names == {OTHER: "my job (new)", JOB_TYPE: f"my job (new)-{JOB_TYPE}"}
    assert speaker.shown("job_types")[JOB_TYPE]["name"] == "my job (new)"


def test_broken_entries_are_named_once_and_stop_nobody(speaker: Speaker, caplog: pytest.LogCaptureFixture) -> None:
    speaker.write("node_types", "gpu", node_type_record())
    speaker.write("node_types", "else", node_type_record(name="another", uuid=OTHER))
    speaker.write("node_types", "none", node_type_record(name="none", uuid=OTHER, thread_count=0))
    speaker.write("job_types", OTHER, "{")
    speaker.write("job_types", "x", job_type_record(executor="unheard-of", uuid="x"))
    speaker.write("job_types", JOB_TYPE, job_type_record())
    speaker.write("schedule_items", OTHER, schedule_record(uuid=OTHER, interval=0))
    speaker.write("schedule_items", "y", schedule_record(job_type_uuid=OTHER, uuid="y"))
    speaker.write("schedule_items", SCHEDULE, schedule_record())

    speaker.round()
    speaker.round()

    assert [one.name for one in speaker.store.list_job_types()] == ["test_job"]
    assert [one.name for one in speaker.store.list_node_types()] == ["gpu"]
    assert speaker.schedules.find(SCHEDULE).schedule.uuid == SCHEDULE
    assert len(warnings(caplog)) == 6
    assert len(speaker.access.ask("hkeys", "node_types")) == 3, "nobody's entries are removed"


def test_an_entry_that_is_broken_anew_is_named_anew(speaker: Speaker, caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(2):
        speaker.write("node_types", "gpu", node_type_record(thread_count=0))
        speaker.round()
        speaker.write("node_types", "gpu", node_type_record())
        speaker.round()

    assert [reason.partition(":")[0] for reason in warnings(caplog)] == ["thread_count"] * 2


@pytest.mark.parametrize(
    ("key", "record"), [("job_types", job_type_record()), ("schedule_items", schedule_record(uuid=SCHEDULE))]
)
def test_an_entry_under_the_uuid_of_another_has_no_effect(
    speaker: Speaker, key: str, record: dict[str, object], caplog: pytest.LogCaptureFixture
) -> None:
    speaker.write("node_types", "gpu", node_type_record())
    speaker.write("job_types", JOB_TYPE, job_type_record())
    speaker.round()

    speaker.write(key, OTHER, {**record, "name": "another", "interval": 5})
    speaker.round()

    assert [one.name for one in speaker.store.list_job_types()] == ["test_job"]
    assert speaker.store.list_schedules(limit=9).entries == []
    assert warnings(caplog) == [f"uuid: '{record['uuid']}' is not the field under which it stands"]


def test_long_names_that_are_the_same_are_made_different_and_not_too_long(speaker: Speaker) -> None:
    speaker.write("node_types", "gpu", node_type_record())
    for uuid in (JOB_TYPE, OTHER):
        speaker.write("job_types", uuid, job_type_record(uuid=uuid, name="x" * 128))
    speaker.round()

    names = {one.uuid: one.name for one in speaker.store.list_job_types()}
    assert names == {OTHER: "x" * 128, JOB_TYPE: f"{'x' * 91}-{JOB_TYPE}"}


def test_an_entry_that_refers_to_something_works_as_soon_as_that_is_there(speaker: Speaker) -> None:
    speaker.write("job_types", JOB_TYPE, job_type_record())
    speaker.round()
    assert speaker.store.list_job_types() == []

    speaker.write("node_types", "gpu", node_type_record())
    speaker.round()

    assert [one.uuid for one in speaker.store.list_job_types()] == [JOB_TYPE]


@pytest.mark.parametrize("key", ["node_types", "job_types", "schedule_items", "nodes"])
def test_a_key_that_others_use_for_something_else_is_named_once_and_left_alone(
    speaker: Speaker, key: str, caplog: pytest.LogCaptureFixture
) -> None:
    define_natively(speaker)
    beat(speaker.store, Node(uuid=OTHER, node_type=NODE_TYPE, last_ping=speaker.clock.now()))
    speaker.access.ask("set", key, "1")

    speaker.round()
    speaker.round()

    assert len(warnings(caplog)) == 1
    assert "WRONGTYPE" in warnings(caplog)[0]
    assert speaker.access.ask("get", key) == b"1"


# -- from here to there --------------------------------------------------------------------------------------------


def test_what_is_defined_here_is_shown_there_in_the_seeds_shape(speaker: Speaker) -> None:
    define_natively(speaker)
    made = speaker.schedules.create(ScheduleRequest(job_type="test_job", interval=60_000)).schedule.uuid
    speaker.schedules.create(ScheduleRequest(job_type="test_job", cron="0 0 * * *"))
    speaker.round()

    assert speaker.shown("node_types") == {"gpu": node_type_record()}
    assert speaker.shown("job_types") == {
        JOB_TYPE: job_type_record(unique=True, timeout=7, metadata={"command": ["ls"], "environment": {}})
    }
    assert speaker.shown("schedule_items") == {made: schedule_record(uuid=made, job_arguments={})}


def test_an_interval_that_is_not_since_the_last_scheduling_is_not_shown(speaker: Speaker) -> None:
    define_natively(speaker)
    speaker.schedules.create(ScheduleRequest(job_type="test_job", interval=60_000, anchor="ended"))

    speaker.round()

    assert speaker.shown("schedule_items") == {}


def test_schedules_are_shown_however_many_pages_they_take_and_not_taken_for_removed(
    speaker: Speaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exchange, "_PAGE", 2)
    define_natively(speaker)
    request = ScheduleRequest(job_type="test_job", interval=60_000)
    made = {speaker.schedules.create(request).schedule.uuid for _ in range(5)}

    for _ in range(2):
        speaker.round()

        assert set(speaker.shown("schedule_items")) == made
    assert len(speaker.store.list_schedules(limit=9).entries) == 5


def test_many_schedules_are_looked_through_less_often(speaker: Speaker, monkeypatch: pytest.MonkeyPatch) -> None:
    assert exchange._SCHEDULES_PER_S == 500
    monkeypatch.setattr(exchange, "_SCHEDULES_PER_S", 1)
    define_natively(speaker)
    request = ScheduleRequest(job_type="test_job", interval=60_000)
    for _ in range(3):
        speaker.schedules.create(request)
    speaker.round()
    speaker.schedules.create(request)

    shown = []
    for _ in range(3):
        speaker.round()
        shown.append(len(speaker.shown("schedule_items")))

    assert shown == [3, 3, 4]


def test_what_is_removed_here_is_removed_there(speaker: Speaker) -> None:
    write_all(speaker)

    speaker.schedules.delete(SCHEDULE)
    speaker.definitions.delete_job_type(JOB_TYPE)
    speaker.definitions.delete_node_type("gpu")
    speaker.round()

    assert [speaker.shown(key) for key in ("node_types", "job_types", "schedule_items")] == [{}, {}, {}]
    assert speaker.access.ask("keys", "rota:synchrony:agreed:*") == []


def test_what_was_not_defined_there_is_put_back_when_it_is_removed_there(speaker: Speaker) -> None:
    define_natively(speaker)
    speaker.round()

    speaker.erase("job_types", JOB_TYPE)
    speaker.round()

    assert [one.uuid for one in speaker.store.list_job_types()] == [JOB_TYPE]
    assert list(speaker.shown("job_types")) == [JOB_TYPE]


def test_the_default_node_type_is_put_back_when_it_is_removed_there(speaker: Speaker) -> None:
    speaker.write("node_types", "default", node_type_record(name="default"))
    speaker.round()

    speaker.erase("node_types", "default")
    speaker.round()

    assert speaker.shown("node_types") == {"default": node_type_record(name="default")}
    assert [one.name for one in speaker.store.list_node_types()] == ["default"]


def test_a_schedule_that_a_file_owns_is_put_back_when_it_is_changed_there(
    speaker: Speaker, caplog: pytest.LogCaptureFixture
) -> None:
    define_natively(speaker)
    request = ScheduleRequest(name="nightly", job_type=JOB_TYPE, interval=60_000)
    speaker.schedules.define(SCHEDULE, request, managed_by=FILE_OWNER)
    speaker.round()

    speaker.write("schedule_items", SCHEDULE, schedule_record(interval=5, job_arguments={}))
    speaker.round()

    assert speaker.shown("schedule_items") == {SCHEDULE: schedule_record(job_arguments={})}
    assert warnings(caplog) == ["'nightly' is defined in a configuration file or an app; change it there"]


def test_what_a_file_owns_is_put_back_when_it_is_changed_there(
    speaker: Speaker, caplog: pytest.LogCaptureFixture
) -> None:
    FileTypes(speaker.definitions).apply([NodeType(uuid=NODE_TYPE, name="gpu", thread_count=2)], [])
    speaker.round()

    speaker.write("node_types", "gpu", node_type_record(thread_count=5))
    speaker.round()

    assert speaker.shown("node_types") == {"gpu": node_type_record()}
    assert warnings(caplog) == ["'gpu' is defined in a configuration file or an app; change it there"]


@pytest.mark.parametrize(("kind", "uuid"), [("node type", NODE_TYPE), ("job type", JOB_TYPE), ("schedule", SCHEDULE)])
def test_what_is_here_and_cannot_be_read_stays_there_as_it_was(
    speaker: Speaker, open_again: Callable[[], Store], kind: str, uuid: str
) -> None:
    write_all(speaker)
    before = [speaker.shown(key) for key in ("node_types", "job_types", "schedule_items")]
    change_records(speaker.store, kind, uuid, lambda _: b"{", queue=NODE_TYPE)
    speaker.access.ask("delete", "rota:synchrony:turn")
    restarted = Speaker(open_again())

    restarted.round()
    restarted.round()

    assert [speaker.shown(key) for key in ("node_types", "job_types", "schedule_items")] == before
    assert [one.kind for one in restarted.store.unreadable_records()] == [kind]


def test_nodes_are_shown_and_those_of_others_are_left_alone(speaker: Speaker) -> None:
    speaker.write("nodes", "theirs", {"uuid": "theirs"})
    beat(speaker.store, Node(uuid=OTHER, node_type=NODE_TYPE, last_ping=speaker.clock.now()))
    speaker.round()
    assert speaker.shown("nodes")[OTHER] == {
        "uuid": OTHER,
        "node_type_uuid": NODE_TYPE,
        "last_ping": speaker.clock.now() - 1_000,
    }

    speaker.store.remove_nodes(uuid=OTHER)
    speaker.clock.advance(5_000)
    speaker.round()

    assert list(speaker.shown("nodes")) == ["theirs"]
    speaker.write("nodes", OTHER, {"uuid": OTHER})
    speaker.clock.advance(5_000)
    speaker.round()
    assert set(speaker.shown("nodes")) == {"theirs", OTHER}, "it is another's now"


# -- both ----------------------------------------------------------------------------------------------------------


def test_nothing_flaps_when_nobody_changes_anything(speaker: Speaker) -> None:
    speaker.write("node_types", "gpu", f'{{"thread_count":2,  "uuid":"{NODE_TYPE}","name":"gpu","more":1}}')
    speaker.write("job_types", JOB_TYPE, job_type_record(name="not plain", more=[1]))
    speaker.round()
    texts = [speaker.access.ask("hgetall", key) for key in ("node_types", "job_types")]
    version = speaker.store.definitions_version()

    for _ in range(5):
        speaker.round()
        Speaker(speaker.store).exchange.learn()

    assert speaker.store.definitions_version() == version
    assert [speaker.access.ask("hgetall", key) for key in ("node_types", "job_types")] == texts


def test_a_change_is_carried_over_again_and_again_in_both_directions(speaker: Speaker) -> None:
    speaker.write("node_types", "gpu", node_type_record())
    speaker.round()

    for number in range(3, 9, 2):
        speaker.write("node_types", "gpu", node_type_record(thread_count=number))
        speaker.round()
        assert speaker.definitions.node_type("gpu").thread_count == number
        known = speaker.definitions.node_type("gpu")
        speaker.definitions.define_node_type(structs.replace(known, thread_count=number + 1))
        speaker.round()
        assert speaker.shown("node_types")["gpu"]["thread_count"] == number + 1


@pytest.fixture
def long_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """No turn ends because the machine is slow."""
    assert exchange._TURN_MS == 5_000
    monkeypatch.setattr(exchange, "_TURN_MS", 600_000)


@pytest.mark.usefixtures("long_turns")
def test_one_node_at_a_time_keeps_the_keys(speaker: Speaker, open_again: Callable[[], Store]) -> None:
    speaker.round()
    second = Speaker(open_again())
    second.write("node_types", "gpu", node_type_record())

    second.round()
    assert second.store.list_node_types() == []
    speaker.round()

    assert [one.name for one in second.store.list_node_types()] == ["gpu"]


@pytest.mark.usefixtures("long_turns")
def test_a_node_whose_turn_it_is_not_carries_nothing_over_between_the_rounds(
    speaker: Speaker, open_again: Callable[[], Store]
) -> None:
    speaker.round()
    second = Speaker(open_again())
    second.round()
    define_natively(second)

    second.exchange.run_once(second.clock.advance(200))
    assert second.shown("job_types") == {}
    speaker.exchange.run_once(speaker.clock.advance(200))

    assert list(second.shown("job_types")) == [JOB_TYPE]


@pytest.mark.usefixtures("long_turns")
def test_the_turn_of_a_node_that_dies_ends_by_itself(speaker: Speaker) -> None:
    speaker.round()

    assert 0 < speaker.access.ask("pttl", "rota:synchrony:turn") <= 600_000


def test_what_is_defined_here_is_shown_before_the_next_round(speaker: Speaker) -> None:
    speaker.round()
    define_natively(speaker)

    speaker.exchange.run_once(speaker.clock.advance(200))

    assert list(speaker.shown("job_types")) == [JOB_TYPE]


def test_a_clock_that_is_set_back_does_not_stop_the_exchange(speaker: Speaker) -> None:
    speaker.round()
    speaker.clock.set(speaker.clock.now() - 3_600_000)
    speaker.write("node_types", "gpu", node_type_record())

    speaker.round()

    assert [one.name for one in speaker.store.list_node_types()] == ["gpu"]


def test_a_plug_in_that_trips_over_one_entry_does_not_keep_the_others_away(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "tripping.py").write_text(
        "class Tripping:\n"
        "    def check(self, job_type): return job_type.metadata['absent']\n"
        "    async def run(self, run): ...\n"
        "    async def close(self): ...\n"
    )
    info = tmp_path / "tripping-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: tripping\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[rota.executors]\ntripping = tripping:Tripping\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    speaker = Speaker(store)

    speaker.write("node_types", "gpu", node_type_record())
    speaker.write("job_types", OTHER, job_type_record(uuid=OTHER, executor="tripping"))
    speaker.write("job_types", JOB_TYPE, job_type_record())
    speaker.round()

    assert [one.uuid for one in store.list_job_types()] == [JOB_TYPE]
    assert warnings(caplog) == ["KeyError: 'absent'"]


# -- a store that is away ------------------------------------------------------------------------------------------


def be_away() -> None:
    raise StoreUnavailable("the store is away")


@pytest.mark.parametrize(
    "call", ["definitions_version", "list_node_types", "list_job_types", "put_node_types", "put_job_types"]
)
def test_what_is_defined_there_while_the_store_is_away_is_defined_in_the_next_round(
    store: Store, caplog: pytest.LogCaptureFixture, call: str
) -> None:
    faults = Faults(store)
    speaker = Speaker(store, seen=faults.store)
    speaker.round()
    speaker.write("node_types", "gpu", node_type_record())
    speaker.write("job_types", JOB_TYPE, job_type_record())
    faults.before(call, be_away)

    with pytest.raises(StoreUnavailable):
        speaker.round()
    speaker.round()

    assert [one.name for one in store.list_job_types()] == ["test_job"]
    assert [one.name for one in store.list_node_types()] == ["gpu"]
    assert warnings(caplog) == [], "nobody's entry is to blame"


@pytest.mark.parametrize("is_done", [False, True])
def test_what_is_defined_here_while_the_server_is_away_is_shown_in_the_next_round(store: Store, is_done: bool) -> None:
    access = Faults(cast(RedisStore, store).access())
    speaker = Speaker(store, access=cast(RedisAccess, access))
    define_natively(speaker)
    (access.after if is_done else access.before)("run", lambda: None, be_away)  # what is there is read first

    with pytest.raises(StoreUnavailable):
        speaker.round()
    speaker.round()

    assert list(speaker.shown("node_types")) == ["gpu"]
    assert list(speaker.shown("job_types")) == [JOB_TYPE]
    assert [one.managed_by for one in store.list_job_types()] == [""], "it was not taken for somebody else's"


def test_what_is_removed_there_while_the_store_is_away_is_removed_in_the_next_round(store: Store) -> None:
    faults = Faults(store)
    speaker = Speaker(store, seen=faults.store)
    write_all(speaker)
    for key, field in (("schedule_items", SCHEDULE), ("job_types", JOB_TYPE), ("node_types", "gpu")):
        speaker.erase(key, field)
    faults.before("delete_schedules", be_away)

    with pytest.raises(StoreUnavailable):
        speaker.round()
    speaker.round()

    assert (store.list_job_types(), store.list_node_types()) == ([], [])
    assert store.find_schedules([SCHEDULE]) == [None]


def test_a_change_that_comes_while_the_other_side_is_written_is_not_overwritten(store: Store) -> None:
    access = Faults(cast(RedisStore, store).access())
    speaker = Speaker(store, access=cast(RedisAccess, access))
    speaker.write("node_types", "gpu", node_type_record())
    speaker.round()
    known = speaker.definitions.node_type("gpu")
    speaker.definitions.define_node_type(structs.replace(known, thread_count=5))

    def change_there() -> None:
        speaker.write("node_types", "gpu", node_type_record(thread_count=7))

    access.before("run", lambda: None, change_there)  # what is there is read first
    speaker.round()
    assert speaker.shown("node_types")["gpu"]["thread_count"] == 7
    speaker.round()

    assert speaker.definitions.node_type("gpu").thread_count == 7, "when both changed, theirs is taken"
