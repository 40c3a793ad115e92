"""Changes of configurations, while events come, others change them too, or the store is away."""

from collections.abc import Callable
from functools import partial

import pytest
from msgspec import structs

from rota.engine.definitions.file_configurations import FileConfigurations
from rota.engine.definitions.moves import move_configurations
from rota.errors import Conflict, NotFound, StoreUnavailable
from rota.model.events.configuration_request import ConfigurationRequest, read_configuration
from rota.model.ids import new_id
from rota.model.job import JobState
from rota.model.node import NodeType
from rota.store import Store
from rota.store.contract.events import ConfigurationEntry
from rota.testing import Faults
from tests.contract.raw_records import change_records
from tests.engine.events.installation import NOW, EventsInstallation, needs


def wish(name: str, *resources: str, **more: object) -> ConfigurationRequest:
    return read_configuration({"name": name, "dependencies": [needs("FILE", one) for one in resources], **more})


class Race:
    """An installation that changes something, and another that is faster."""

    def __init__(self, store: Store, open_again: Callable[[], Store]) -> None:
        self.faults = Faults(store)
        self.slow, self.fast = EventsInstallation(self.faults.store), EventsInstallation(open_again())

    def meanwhile(self, *acts: Callable[[], object]) -> None:
        """Between the slow installation's reading and its writing, the next times."""
        self.faults.before("put_configurations", *acts)

    def entry(self, name: str = "c") -> ConfigurationEntry:
        return self.fast.configurations.find(name)


@pytest.fixture
def race(store: Store, open_again: Callable[[], Store]) -> Race:
    return Race(store, open_again)


def test_what_an_event_did_while_a_configuration_was_changed_is_not_lost(race: Race) -> None:
    race.fast.define_configuration("c", needs("FILE", "a"), needs("FILE", "b"))
    race.meanwhile(lambda: race.fast.post("FILE", "a", 10))

    race.slow.configurations.replace("c", wish("c", "a", "c"))

    state = race.entry().state
    assert (state.version, state.evaluated) == (3, 1)
    assert race.fast.triggers("FILE", "c", 20), "the evidence of what stayed is kept"
    told = [(one.action, one.is_done) for one in race.fast.store.list_audit(limit=10) if one.kind == "configuration"]
    assert told == [("change", True), ("create", True)], "of the try that came too late nothing is told"


def test_a_change_upon_a_version_that_was_read_is_refused_when_it_is_another_now(race: Race) -> None:
    race.fast.define_configuration("c", needs("FILE", "a"), needs("FILE", "b"))
    race.fast.post("FILE", "a", 10)

    for stale in (1, 3):
        with pytest.raises(Conflict, match=f"is at version 2, not {stale}"):
            race.slow.configurations.replace("c", wish("c", "x"), expected=stale)
    race.meanwhile(lambda: race.fast.post("FILE", "a", 11))
    with pytest.raises(Conflict, match="is at version 3, not 2"):
        race.slow.configurations.replace("c", wish("c", "x"), expected=2)
    assert [one.resource for one in race.entry().configuration.dependencies] == ["a", "b"]

    race.slow.configurations.replace("c", wish("c", "x"), expected=3)

    assert [one.resource for one in race.entry().configuration.dependencies] == ["x"]


def test_of_two_that_create_the_same_name_one_is_refused(race: Race) -> None:
    race.meanwhile(lambda: race.fast.define_configuration("c", needs("FILE", "a")))

    with pytest.raises(Conflict, match="'c'"):
        race.slow.configurations.create(wish("c", "b"))

    assert [one.resource for one in race.entry().configuration.dependencies] == ["a"]


def test_a_change_of_what_was_deleted_meanwhile_is_not_found(race: Race) -> None:
    race.fast.define_configuration("c", needs("FILE", "a"))
    race.meanwhile(lambda: race.fast.configurations.delete("c"))

    with pytest.raises(NotFound):
        race.slow.configurations.replace("c", wish("c", "b"))

    assert race.fast.store.list_configurations(limit=9).entries == []
    race.slow.define_configuration("c", needs("FILE", "a"))  # its name is free


def test_a_change_that_is_none_leaves_the_version_as_it_is(race: Race) -> None:
    race.fast.define_configuration("c", needs("FILE", "a"))

    entry = race.slow.configurations.replace("c", wish("c", "a"))

    assert entry.state.version == race.entry().state.version == 1


def test_a_configuration_keeps_its_uuid_and_the_time_of_its_making_when_it_changes(race: Race) -> None:
    before = race.fast.define_configuration("c", needs("FILE", "a")).configuration
    race.slow.clock.advance(5_000)

    after = race.slow.configurations.replace(before.uuid, wish("d", "b")).configuration

    assert (after.uuid, after.created_at, after.name) == (before.uuid, NOW, "d")
    assert race.fast.store.configuration_uuid("c") is None


@pytest.mark.parametrize("is_done", [False, True])
def test_a_change_while_the_store_is_away_can_be_made_again(store: Store, is_done: bool) -> None:
    def be_away() -> None:
        raise StoreUnavailable("the store is away")

    faults = Faults(store)
    installation = EventsInstallation(faults.store)
    installation.define_configuration("c", needs("FILE", "a"))
    (faults.after if is_done else faults.before)("put_configurations", be_away)

    with pytest.raises(StoreUnavailable):
        installation.configurations.replace("c", wish("c", "b"))
    installation.configurations.replace("c", wish("c", "b"))

    assert [one.resource for one in installation.configurations.find("c").configuration.dependencies] == ["b"]
    assert installation.configurations.find("c").state.version == 2
    assert [installation.triggers("FILE", "a", 1), installation.triggers("FILE", "b", 1)] == [False, True]


def test_the_job_type_that_was_made_for_a_configuration_goes_when_it_is_not_needed(race: Race) -> None:
    own = {"executor": "log", "metadata": {"message": "m"}}
    race.fast.define_configuration("c", needs("FILE", "a"), job=own)
    made = race.entry().configuration.job_type
    assert [one.name for one in race.fast.store.list_job_types()] == ["rota.configuration.c"]

    race.slow.configurations.replace("c", wish("c", "a", job={**own, "metadata": {"message": "other"}}))
    assert race.entry().configuration.job_type == made
    race.slow.configurations.replace("c", wish("c", "a"))

    assert [one.name for one in race.fast.store.list_job_types()] == ["rota.log"]


# -- moves ---------------------------------------------------------------------------------------------------------


def test_a_configuration_follows_its_job_type_although_events_come_meanwhile(race: Race) -> None:
    race.fast.definitions.define_node_type(NodeType(uuid=new_id(NOW), name="big"))
    for name in ("report", "other"):
        race.fast.define(name)
    race.fast.define_configuration("c", needs("FILE", "a", 0), job={"job_type": "report"})
    race.fast.define_configuration("d", needs("FILE", "a", 0), job={"job_type": "other"})
    default, big = (race.fast.definitions.node_type(name).uuid for name in ("default", "big"))
    race.meanwhile(*[lambda at=at: race.fast.post("FILE", "a", at) for at in (1, 2)])

    move_configurations(race.faults.store, race.fast.definitions.job_type("report").uuid, big)

    assert [race.entry(name).configuration.queue for name in ("c", "d")] == [big, default]
    assert [race.entry(name).state.triggered for name in ("c", "d")] == [2, 2]
    assert race.entry().state.version == 4


def test_of_very_many_configurations_of_a_job_type_all_follow_it(race: Race, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rota.engine.definitions.moves._PAGE", 2)
    race.fast.definitions.define_node_type(NodeType(uuid=new_id(NOW), name="big"))
    race.fast.define("report")
    names = [f"c{number}" for number in range(5)]
    for name in names:
        race.fast.define_configuration(name, needs("FILE", "a", 0), job={"job_type": "report"})

    report = race.fast.definitions.job_type("report")
    race.fast.definitions.change_job_type(structs.replace(report, node_type="big"))

    big = race.fast.definitions.node_type("big").uuid
    assert [race.entry(name).configuration.queue for name in names] == [big] * 5


class Mortal(Faults):
    """A store whose process dies before the call of a number."""

    number = 0

    def _prepare(self, name: str) -> None:
        if len(self.calls) + 1 == self.number:
            raise KeyboardInterrupt
        super()._prepare(name)


def test_jobs_are_made_once_and_where_their_job_type_is_wherever_a_process_dies_that_moves_it(
    store: Store, open_again: Callable[[], Store]
) -> None:
    installation = EventsInstallation(store)
    queues = {}
    for name in ("big", "small"):
        installation.definitions.define_node_type(NodeType(uuid=new_id(NOW), name=name))
        queues[name] = installation.definitions.node_type(name).uuid
    installation.define("report", node_type="small")
    installation.define_configuration("c", needs("FILE", "a", 0), job={"job_type": "report"})
    is_done, at = False, 0
    while not is_done:
        at += 1
        mortal = Mortal(open_again())
        mortal.number = at
        there = installation.definitions.current_job_type("report")
        target = "big" if there.node_type == "small" else "small"

        try:
            EventsInstallation(mortal.store).definitions.change_job_type(structs.replace(there, node_type=target))
            is_done = True
        except KeyboardInterrupt:
            pass

        answer = EventsInstallation(open_again()).post("FILE", "a", at)
        home = queues[installation.definitions.current_job_type("report").node_type]
        assert [installation.job(one.job).spec.queue for one in answer.triggered] == [home]
        assert installation.configurations.find("c").configuration.queue == home
        assert installation.configurations.find("c").state.triggered == at
    assert at > 5


def test_a_configuration_whose_job_type_cannot_be_read_stays_where_it_is(
    store: Store, open_again: Callable[[], Store]
) -> None:
    installation = EventsInstallation(store)
    installation.definitions.define_node_type(NodeType(uuid=new_id(NOW), name="big"))
    installation.define("report", node_type="big")
    installation.define_configuration("c", needs("FILE", "a", 0), job={"job_type": "report"})
    change_records(store, "job type", installation.definitions.job_type("report").uuid, lambda record: b"{")

    answer = EventsInstallation(open_again()).post("FILE", "a", 1)

    big = installation.definitions.node_type("big").uuid
    assert installation.configurations.find("c").configuration.queue == big
    assert [installation.job(one.job).spec.queue for one in answer.triggered] == [big]


def test_whoever_has_not_heard_of_a_move_does_not_undo_it(race: Race) -> None:
    race.fast.definitions.define_node_type(NodeType(uuid=new_id(NOW), name="big"))
    race.fast.define("report")
    race.fast.define_configuration("c", needs("FILE", "a", 0), job={"job_type": "report"})
    race.slow.post("FILE", "a", 1)
    big = race.fast.definitions.node_type("big").uuid
    moved = structs.replace(race.fast.definitions.job_type("report"), node_type="big")
    race.fast.definitions.change_job_type(moved)

    race.slow.post("FILE", "a", 2)

    assert "put_configurations" not in race.faults.calls
    assert race.entry().configuration.queue == big
    assert race.fast.store.count_jobs(big)[JobState.QUEUED] == 1


@pytest.mark.parametrize("call", ["load_configurations", "apply_verdicts"])
def test_an_event_comes_to_a_configuration_that_changes_its_queue_meanwhile(race: Race, call: str) -> None:
    race.fast.definitions.define_node_type(NodeType(uuid=new_id(NOW), name="big"))
    race.fast.define("report")
    race.fast.define("other", node_type="big")
    race.fast.define_configuration("c", needs("FILE", "a", 0), job={"job_type": "report"})
    race.fast.define_configuration("d", needs("FILE", "a"), needs("FILE", "b"))

    def change_to(job_type: str) -> None:
        wanted = {"name": "c", "dependencies": [needs("FILE", "a", 0)], "job": {"job_type": job_type}}
        race.fast.configurations.replace("c", read_configuration(wanted))

    race.faults.before(call, *(partial(change_to, one) for one in ("other", "report", "other")))

    answer = race.slow.post("FILE", "a", 1)

    assert sorted(one.configuration for one in answer.validated) == ["c", "d"]
    (made,) = answer.triggered
    big = race.fast.definitions.node_type("big").uuid
    assert race.fast.job(made.job).spec.queue == big
    assert race.fast.store.read_totals(big).enqueued == 1
    assert race.entry().state.evaluated == 1
    assert race.entry("d").state.evaluated == 1, "what stayed where it was is not judged once more"


def test_a_configuration_that_is_deleted_while_it_is_judged_is_left_alone(race: Race) -> None:
    race.fast.define_configuration("c", needs("FILE", "a"))
    race.fast.define_configuration("d", needs("FILE", "a"))
    race.faults.before("load_configurations", lambda: race.fast.configurations.delete("c"))

    answer = race.slow.post("FILE", "a", 1)

    assert [one.configuration for one in answer.validated] == ["d"]


# -- files ---------------------------------------------------------------------------------------------------------


def test_a_file_that_is_applied_again_after_it_was_cut_off_owns_the_same(race: Race) -> None:
    def be_away() -> None:
        raise StoreUnavailable("the store is away")

    file = FileConfigurations(race.faults.store, race.slow.configurations)
    file.apply([wish("kept", "a"), wish("gone", "b")])
    race.faults.before("delete_configurations", be_away)

    with pytest.raises(StoreUnavailable):
        file.apply([wish("kept", "a"), wish("new", "c")])
    file.apply([wish("kept", "a"), wish("new", "c")])

    entries = race.fast.store.list_configurations(limit=9).entries
    assert [(one.configuration.name, one.configuration.managed_by) for one in entries] == [
        ("kept", "file"),
        ("new", "file"),
    ]


@pytest.mark.parametrize(
    "other",
    [
        wish("c", "b"),
        wish("c", "a", clock="reception"),
        wish("c", "a", late="join"),
        wish("c", "a", job={"executor": "log"}),
        read_configuration({"name": "c", "dependencies": [{"any_of": [needs("FILE", "a")]}]}),
    ],
)
def test_a_file_tells_what_it_would_change(race: Race, other: ConfigurationRequest) -> None:
    file = FileConfigurations(race.faults.store, race.slow.configurations)
    file.apply([wish("c", "a"), wish("gone", "a")])

    assert list(file.diff([wish("c", "a"), wish("gone", "a")])) == []
    assert list(file.diff([other, wish("new", "a")])) == [("c", "change"), ("new", "create"), ("gone", "delete")]
    assert len(race.fast.store.list_configurations(limit=9).entries) == 2, "nothing is done"
