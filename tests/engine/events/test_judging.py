"""Events that several processes take at once, that come twice, or come while the store is away: each counts once."""

from collections.abc import Callable
from typing import Any

import pytest

from rota.engine.events.events import EventAnswer, Events
from rota.errors import StoreUnavailable
from rota.model.events.configuration_request import read_configuration
from rota.store import Store
from rota.store.contract.events import Validation
from rota.testing import Faults
from tests.engine.events.installation import EventsInstallation, needs

DAY_MS = 24 * 3600 * 1000


def be_away() -> None:
    raise StoreUnavailable("the store is away")


def verdicts(installation: EventsInstallation, name: str) -> list[str]:
    """Of all events so far, the latest first."""
    uuid = installation.configurations.find(name).configuration.uuid
    return [one.verdict.value for one in installation.store.list_evaluations(uuid, limit=100)]


def validations(installation: EventsInstallation, name: str) -> list[Validation]:
    uuid = installation.configurations.find(name).configuration.uuid
    return installation.store.list_validations(uuid, limit=10_000)


def counts(installation: EventsInstallation, name: str) -> tuple[int, int]:
    """How many events were judged, and how many of them made a job."""
    state = installation.configurations.find(name).state
    return state.evaluated, state.triggered


def made(answer: EventAnswer) -> list[tuple[int, str]]:
    return [(one.event, one.configuration) for one in answer.triggered]


def valid(answer: EventAnswer) -> list[tuple[int, str, str]]:
    return [(one.event, one.configuration, one.dependency.resource) for one in answer.validated]


# -- two that judge at once ----------------------------------------------------------------------------------------


class Race:
    """An installation that has judged an event upon what it read, and another that is faster to write."""

    def __init__(self, store: Store, open_again: Callable[[], Store]) -> None:
        self._faults = Faults(store)
        self.slow, self.fast = EventsInstallation(self._faults.store), EventsInstallation(open_again())

    def meanwhile(self, *acts: Callable[[], object]) -> None:
        """Between the slow installation's judging and its writing, the next times."""
        self._faults.before("apply_verdicts", *acts)

    @property
    def writes(self) -> int:
        return self._faults.calls.count("apply_verdicts")


@pytest.fixture
def race(store: Store, open_again: Callable[[], Store]) -> Race:
    return Race(store, open_again)


def test_whoever_is_late_judges_again_upon_what_the_other_wrote(race: Race) -> None:
    race.fast.define_configuration("c", needs("FILE", "a"), needs("TABLE", "b"))
    race.meanwhile(lambda: race.fast.post("TABLE", "b", 11))

    answer = race.slow.post("FILE", "a", 10)

    assert made(answer) == [(0, "c")], "upon what it had read first, it would wait"
    assert valid(answer) == [(0, "c", "a")], "it validated one, and once, although it was judged twice"
    assert verdicts(race.fast, "c") == ["triggered", "waiting"]
    assert counts(race.fast, "c") == (2, 1)
    assert len(validations(race.fast, "c")) == 2
    assert race.fast.configurations.find("c").state.version == 3


def test_however_often_others_are_faster_an_event_is_not_lost(race: Race) -> None:
    race.fast.define_configuration("c", needs("FILE", "a", 0))
    race.meanwhile(*(lambda at=at: race.fast.post("FILE", "a", at) for at in (1, 2, 3)))

    answer = race.slow.post("FILE", "a", 10)

    assert made(answer) == [(0, "c")]
    assert race.writes == 4
    assert counts(race.fast, "c") == (4, 4)


def test_an_event_that_two_take_at_once_by_one_id_counts_once(race: Race) -> None:
    race.fast.define_configuration("c", needs("FILE", "a"))
    race.meanwhile(lambda: race.fast.post("FILE", "a", 10, eventId="mine"))

    answer = race.slow.post("FILE", "a", 10, eventId="mine")

    assert (made(answer), valid(answer)) == ([], [])
    assert verdicts(race.fast, "c") == ["duplicate", "triggered"]
    assert counts(race.fast, "c") == (2, 1)


def test_an_event_that_became_older_meanwhile_validates_nothing(race: Race) -> None:
    race.fast.define_configuration("c", needs("FILE", "a"))
    race.meanwhile(lambda: race.fast.post("FILE", "a", 20))

    answer = race.slow.post("FILE", "a", 10)

    assert (made(answer), valid(answer)) == ([], [])
    assert verdicts(race.fast, "c") == ["older", "triggered"]


def test_only_the_configuration_that_changed_is_judged_again(race: Race) -> None:
    race.fast.define_configuration("c", needs("FILE", "a"), needs("TABLE", "b"))
    race.fast.define_configuration("d", needs("FILE", "a", 0))
    race.meanwhile(lambda: race.fast.post("TABLE", "b", 11))

    answer = race.slow.post("FILE", "a", 10)

    assert sorted(made(answer)) == [(0, "c"), (0, "d")]
    assert counts(race.fast, "d") == (1, 1)


def test_a_configuration_that_was_deleted_meanwhile_makes_nothing(race: Race) -> None:
    race.fast.define_configuration("c", needs("FILE", "a"))
    race.meanwhile(lambda: race.fast.configurations.delete("c"))

    answer = race.slow.post("FILE", "a", 10)

    assert (made(answer), valid(answer), race.writes) == ([], [], 1)


def test_a_configuration_that_waits_for_something_else_meanwhile_makes_nothing(race: Race) -> None:
    race.fast.define_configuration("c", needs("FILE", "a"))
    other = read_configuration({"name": "c", "dependencies": [needs("FILE", "b")]})
    race.meanwhile(lambda: race.fast.configurations.replace("c", other))

    answer = race.slow.post("FILE", "a", 10)

    assert (made(answer), valid(answer)) == ([], [])
    assert counts(race.fast, "c") == (0, 0)


# -- events that come twice ----------------------------------------------------------------------------------------


@pytest.fixture
def installation(store: Store) -> EventsInstallation:
    return EventsInstallation(store)


def test_of_events_with_one_id_in_one_batch_the_first_counts(installation: EventsInstallation) -> None:
    installation.define_configuration("c", needs("FILE", "a", 0))
    events = [
        installation.event("FILE", "a", at, eventId=own_id) for at, own_id in ((1, "x"), (2, "y"), (3, "x"), (4, "y"))
    ]

    answer = installation.events.post(events)

    assert made(answer) == [(0, "c"), (1, "c")]
    assert valid(answer) == [(0, "c", "a"), (1, "c", "a")]
    assert verdicts(installation, "c") == ["duplicate", "duplicate", "triggered", "triggered"]
    assert answer.matched == {0, 1, 2, 3}, "also the others hit something"


def test_what_events_did_is_told_in_the_order_of_the_events_whichever_configuration_heard_of_it(
    installation: EventsInstallation,
) -> None:
    for resource in ("a", "b"):
        installation.define_configuration(resource, needs("FILE", resource, 0))

    answer = installation.events.post([installation.event("FILE", one, at) for at, one in enumerate("abba", 1)])

    assert made(answer) == [(0, "a"), (1, "b"), (2, "b"), (3, "a")]
    assert valid(answer) == [(0, "a", "a"), (1, "b", "b"), (2, "b", "b"), (3, "a", "a")]


def test_each_of_several_events_that_trigger_in_one_call_names_its_own_job(installation: EventsInstallation) -> None:
    installation.define_configuration("c", needs("FILE", "a", 0))

    answer = installation.events.post([installation.event("FILE", "a", at) for at in (1, 2, 3)])

    jobs = [one.job for one in answer.triggered]
    uuid = installation.configurations.find("c").configuration.uuid
    assert len(set(jobs)) == 3
    assert [one.job for one in installation.store.list_evaluations(uuid, limit=10)] == jobs[::-1]


def test_an_id_that_comes_back_in_a_later_part_of_a_long_list_is_known(installation: EventsInstallation) -> None:
    installation.define_configuration("c", needs("FILE", "a", 0))
    ids = ["x", *(f"n{n}" for n in range(600)), "x"]

    answer = installation.events.post(
        [installation.event("FILE", "a", n, eventId=own_id) for n, own_id in enumerate(ids)]
    )

    assert made(answer) == [(n, "c") for n in range(601)]
    assert counts(installation, "c") == (602, 601)


def test_an_id_that_comes_back_in_a_later_batch_is_known_to_every_process(
    installation: EventsInstallation, open_again: Callable[[], Store]
) -> None:
    installation.define_configuration("c", needs("FILE", "a"), needs("TABLE", "b"))
    installation.post("FILE", "a", 1, eventId="x")

    again = EventsInstallation(open_again()).post("FILE", "a", 50, eventId="x")

    assert valid(again) == []
    assert installation.triggers("TABLE", "b", 101)
    assert not installation.triggers("TABLE", "b", 102), "the second delivery did not prolong it"


def test_an_id_is_known_only_where_its_event_validated_something(installation: EventsInstallation) -> None:
    installation.define_configuration("c", needs("FILE", "a", 0))
    installation.define_configuration("d", needs("TABLE", "a", 0))
    installation.post("FILE", "a", 10)

    assert not installation.triggers("FILE", "a", 5, eventId="x"), "older than the last execution"
    assert installation.triggers("FILE", "a", 11, eventId="x"), "so its id is free"
    assert installation.triggers("TABLE", "a", 1, eventId="x"), "to another configuration it is another event"
    assert verdicts(installation, "c") == ["triggered", "older", "triggered"]


def test_events_without_an_id_of_their_own_are_never_the_same(installation: EventsInstallation) -> None:
    installation.define_configuration("c", needs("FILE", "a", 0))

    assert [installation.triggers("FILE", "a", 1), installation.triggers("FILE", "a", 2)] == [True, True]
    assert [one.has_own_id for one in validations(installation, "c")] == [False, False]


# -- what is kept --------------------------------------------------------------------------------------------------


def post_after(installation: EventsInstallation, days: float, *, count: int = 100) -> None:
    """Other events, so many days later: enough of them for what is too old to be forgotten."""
    installation.clock.advance(int(days * DAY_MS))
    installation.events.post([installation.event("FILE", "a", n) for n in range(count)])


def test_an_event_that_is_still_alive_is_not_forgotten_however_old_it_is(installation: EventsInstallation) -> None:
    installation.define_configuration("c", needs("FILE", "a", 60 * 24 * 3600), needs("TABLE", "never"))
    installation.post("FILE", "a", 1, eventId="x")

    post_after(installation, 60)

    assert validations(installation, "c")[-1].event.id == "x"
    assert valid(installation.post("FILE", "a", 2, eventId="x")) == []


def test_the_longest_life_of_all_dependencies_decides(installation: EventsInstallation) -> None:
    installation.define_configuration("c", needs("FILE", "a", 1), needs("TABLE", "never", 60 * 24 * 3600))
    installation.post("FILE", "a", 1, eventId="x")

    post_after(installation, 60)
    assert validations(installation, "c")[-1].event.id == "x"

    post_after(installation, 1)
    assert "x" not in [one.event.id for one in validations(installation, "c")]


def test_history_is_kept_for_thirty_days_and_not_longer(installation: EventsInstallation) -> None:
    installation.define_configuration("c", needs("FILE", "a", 1), needs("TABLE", "never", 1))
    installation.post("FILE", "a", 1, eventId="x")

    post_after(installation, 30)
    assert validations(installation, "c")[-1].event.id == "x", "exactly so old is not too old"
    assert valid(installation.post("FILE", "a", 2, eventId="x")) == []

    post_after(installation, 1 / DAY_MS)
    assert "x" not in [one.event.id for one in validations(installation, "c")]
    assert valid(installation.post("FILE", "a", 2, eventId="x")) == [(0, "c", "a")], "its id is forgotten with it"


def test_how_long_history_is_kept_can_be_set(installation: EventsInstallation) -> None:
    installation.define_configuration("c", needs("FILE", "a", 1), needs("TABLE", "never", 1))
    installation.events = Events(installation.store, installation.definitions, installation.clock, retention_ms=5_000)
    installation.post("FILE", "a", 1, eventId="x")

    installation.clock.advance(5_001)
    post_after(installation, 0)

    assert len(validations(installation, "c")) == 100


# -- a store that is away ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("call", ["match_events", "load_configurations", "apply_verdicts"])
def test_an_event_that_the_store_could_not_take_can_be_sent_again(store: Store, call: str) -> None:
    faults = Faults(store)
    installation = EventsInstallation(faults.store)
    installation.define_configuration("c", needs("FILE", "a", 0))
    faults.before(call, be_away)
    event = installation.event("FILE", "a", 1, eventId="x")

    with pytest.raises(StoreUnavailable):
        installation.events.post([event])
    assert counts(installation, "c") == (0, 0)
    answer = installation.events.post([event])

    assert made(answer) == [(0, "c")]
    assert counts(installation, "c") == (1, 1)


def test_an_event_whose_answer_was_lost_can_be_sent_again_and_counts_once(store: Store) -> None:
    faults = Faults(store)
    installation = EventsInstallation(faults.store)
    installation.define_configuration("c", needs("FILE", "a", 0))
    faults.after("apply_verdicts", be_away)
    event = installation.event("FILE", "a", 1, eventId="x")

    with pytest.raises(StoreUnavailable):
        installation.events.post([event])
    answer = installation.events.post([event])

    assert (made(answer), valid(answer)) == ([], [])
    assert counts(installation, "c") == (2, 1)


# -- times ---------------------------------------------------------------------------------------------------------


def test_a_life_ends_with_its_last_microsecond(installation: EventsInstallation) -> None:
    installation.define_configuration("c", needs("FILE", "a", 100), needs("TABLE", "b", 0))
    installation.post("FILE", "a", "2021-01-01T12:00:00.000001Z")

    assert installation.triggers("TABLE", "b", "2021-01-01T12:01:40.000001Z")
    assert not installation.triggers("TABLE", "b", "2021-01-01T12:01:40.000002Z")


def test_a_life_begins_with_its_first_microsecond(installation: EventsInstallation) -> None:
    installation.define_configuration("c", needs("FILE", "a", 100), needs("TABLE", "b", 0))
    installation.post("FILE", "a", "2021-01-01T12:00:00.000001Z")

    assert not installation.triggers("TABLE", "b", "2021-01-01T12:00:00.000000Z")
    assert installation.triggers("TABLE", "b", "2021-01-01T12:00:00.000001Z")


def test_an_event_of_the_very_instant_of_the_last_execution_is_not_newer(installation: EventsInstallation) -> None:
    installation.define_configuration("c", needs("FILE", "a", 0))

    assert installation.triggers("FILE", "a", "2021-01-01T12:00:00.000001Z")
    assert not installation.triggers("FILE", "a", "2021-01-01T12:00:00.000001Z")
    assert installation.triggers("FILE", "a", "2021-01-01T12:00:00.000002Z")


def test_an_event_of_the_future_is_one_of_its_reception_and_blocks_nobody(installation: EventsInstallation) -> None:
    installation.define_configuration("c", needs("FILE", "a", 10), needs("TABLE", "b", 0))
    now = installation.clock.now()
    installation.post("FILE", "a", "2099-01-01T00:00:00Z")

    first = installation.triggers("TABLE", "b", "2099-01-01T00:00:00Z", received=now + 10_000)
    late = installation.triggers("TABLE", "b", "2099-01-01T00:00:00Z", received=now + 11_000)

    assert (first, late) == (True, False), "its life begins when it was received"
    (newest, *_) = validations(installation, "c")
    assert newest.event.time == (now + 11_000) * 1_000 + 999


# -- previews ------------------------------------------------------------------------------------------------------


def test_a_preview_says_what_would_happen_and_changes_nothing(installation: EventsInstallation) -> None:
    installation.define_configuration("c", needs("FILE", "a", 0))
    other = installation.define_configuration("d", needs("FILE", "a"), needs("TABLE", "b")).configuration.uuid
    installation.post("FILE", "a", 1, eventId="x")

    def preview(at: float, configuration: str | None = None, **more: Any) -> list[tuple[str, str]]:
        found = installation.events.preview(installation.event("FILE", "a", at, **more), configuration)
        return sorted((one.configuration, one.evaluation.verdict.value) for one in found)

    assert preview(2) == [("c", "triggered"), ("d", "waiting")]
    assert preview(2) == [("c", "triggered"), ("d", "waiting")]
    assert preview(2, eventId="x") == [("c", "duplicate"), ("d", "duplicate")]
    assert preview(1) == [("c", "older"), ("d", "waiting")]
    assert preview(2, other) == [("d", "waiting")]
    assert (counts(installation, "c"), counts(installation, "d")) == ((1, 1), (1, 0))
