"""Events as others send them: which fields there are, and what is said of those that are wrong."""

import pytest

from rota.engine.events.request import read_event, read_events
from rota.errors import InvalidInput

GOOD = {"eventType": "FILE", "eventTimestamp": "2021-01-01T12:00:00Z", "eventResourceId": "a"}
RECEIVED = 1_700_000_000_000


def test_an_event_is_read_with_its_defaults() -> None:
    event = read_event(GOOD, RECEIVED)

    assert (event.type, event.resource, event.time) == ("FILE", "a", 1_609_502_400_000_000)
    assert (event.received_at, event.has_own_id, event.outcome) == (RECEIVED, False, None)
    assert read_event(GOOD, RECEIVED).id != event.id


def test_an_id_of_its_own_is_kept() -> None:
    event = read_event({**GOOD, "eventId": "mine"}, RECEIVED)

    assert (event.id, event.has_own_id) == ("mine", True)


def test_a_field_may_be_there_in_two_spellings_if_both_say_the_same() -> None:
    assert read_event({**GOOD, "eventResourceld": "a"}, RECEIVED).resource == "a"
    with pytest.raises(InvalidInput, match=r"^eventResourceId: is given twice"):
        read_event({**GOOD, "eventResourceld": "b"}, RECEIVED)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"eventType": None}, "eventType"),
        ({"eventTimestamp": 5}, "eventTimestamp"),
        ({"eventResourceId": ""}, "eventResourceId"),
        ({"eventId": "x" * 257}, "eventId"),
        ({"eventId": 7}, "eventId"),
        ({"outcome": "succeeded"}, "outcome"),
        ({"eventType": "JOB", "outcome": "running"}, "outcome"),
        ({"more": 1}, "more"),
    ],
)
def test_what_is_wrong_is_named(changes: dict[str, object], field: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{field}: "):
        read_event({**GOOD, **changes}, RECEIVED)


@pytest.mark.parametrize("field", ["eventType", "eventTimestamp", "eventResourceId"])
def test_what_is_needed_is_missed(field: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{field}: is missing"):
        read_event({name: value for name, value in GOOD.items() if name != field}, RECEIVED)


def test_the_longest_id_and_the_outcome_of_a_job_are_taken() -> None:
    event = read_event({**GOOD, "eventType": "JOB", "outcome": "failed", "eventId": "x" * 256}, RECEIVED)

    assert (event.outcome, len(event.id)) == ("failed", 256)


def test_of_a_list_the_good_ones_are_taken_with_their_numbers() -> None:
    good, bad = read_events([5, GOOD, {}, {**GOOD, "eventId": "x"}], RECEIVED)

    assert [(number, event.has_own_id) for number, event in good] == [(1, False), (3, True)]
    assert [(one.index, one.field) for one in bad] == [(0, "event"), (2, "eventType")]


def test_a_list_has_ten_thousand_events_at_most_and_one_at_least() -> None:
    assert len(read_events([GOOD] * 10_000, RECEIVED)[0]) == 10_000
    for count, said in ((10_001, "are 10001 in one call, the limit is 10000"), (0, "are none")):
        with pytest.raises(InvalidInput, match=f"^events: {said}"):
            read_events([GOOD] * count, RECEIVED)
