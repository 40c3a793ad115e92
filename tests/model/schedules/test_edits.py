"""Changing a schedule in part: what is named changes, and nothing else."""

import pytest
from msgspec import structs

from rota.errors import InvalidInput
from rota.model.schedules.edits import changed_request, in_one_word, request_from, request_of
from rota.model.schedules.request import CatchUpRequest, Emission, Frequency, ScheduleRequest, make_schedule
from rota.model.schedules.schedule import Schedule
from tests.model.triggers.instants import ms

NOW = ms("2026-05-01T12:00")

FULL = ScheduleRequest(
    job_type="t",
    name="nightly",
    job_arguments={"a": 1},
    cron="30 2 1 * MON",
    dialect="quartz",
    days="both",
    dst="skip",
    start=NOW + 1_000,
    end=NOW + 10**11,
    max_runs=7,
    tz="Europe/Berlin",
    utc=False,
    jitter=90_000,
    overlap="buffer_one",
    catch_up=CatchUpRequest(mode="all", window=7_200_000, max=5),
    exclude=["2027-12-25"],
    priority=3,
    paused=True,
    note="later",
    pause_on_failure=True,
)
"""No field has its standard value."""


def schedule_of(request: ScheduleRequest) -> Schedule:
    return make_schedule(request, uuid="u", job_type=request.job_type, queue="q", created_at=NOW, now=None)


@pytest.mark.parametrize(
    "times",
    [
        {},
        {"utc": True},
        {"utc": True, "tz": None},
        {"cron": "* * * * *", "dialect": "auto", "days": "either", "dst": "vixie"},
        {"cron": "* * * * *", "dialect": "unix", "days": "either", "dst": "literal"},
        {"interval": 5_000, "anchor": "epoch", "phase": 300},
        {"interval": 5_000, "anchor": "ended"},
        {"frequency": Frequency("HOURS", 2)},
        {"at": NOW + 10**9},
        {"delay": 10**9},
        {"catch_up": CatchUpRequest(mode="none", window="none", max=1)},
    ],
)
def test_a_schedule_told_as_a_request_is_made_again_as_it_was(times: dict[str, object]) -> None:
    request = FULL
    if {"interval", "frequency", "at", "delay"} & times.keys():
        request = structs.replace(FULL, cron=None, dialect="auto", days="either", dst="vixie")
    request = structs.replace(request, **times)
    schedule = schedule_of(request)

    told = request_of(schedule)

    assert schedule_of(told) == schedule
    assert told == structs.replace(request, tz=request.tz or "UTC")


@pytest.mark.parametrize(
    ("field", "value", "standard"),
    [
        ("job_type", "other", ""),
        ("name", "daily", None),
        ("job_arguments", {"b": 2}, {}),
        ("cron", "0 3 1 * TUE", None),
        ("start", NOW + 2_000, None),
        ("end", NOW + 10**12, None),
        ("max_runs", 8, None),
        ("tz", "Asia/Tokyo", None),
        ("utc", True, False),
        ("jitter", 1_000, 0),
        ("overlap", "allow", None),
        ("exclude", ["2028-12-25"], []),
        ("priority", 4, 0),
        ("paused", False, False),
        ("note", "other", ""),
        ("pause_on_failure", False, False),
    ],
)
def test_one_field_is_changed_or_set_back_and_all_others_stay(field: str, value: object, standard: object) -> None:
    changed, set_back = (changed_request(FULL, {field: given}) for given in (value, None))

    assert changed == structs.replace(FULL, **{field: value})
    assert set_back == structs.replace(FULL, **{field: standard})


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"mode": "none"}, CatchUpRequest(mode="none", window=7_200_000, max=5)),
        ({"window": "3h"}, CatchUpRequest(mode="all", window="3h", max=5)),
        ({"max": 6}, CatchUpRequest(mode="all", window=7_200_000, max=6)),
        ("last", CatchUpRequest(mode="last", window=7_200_000, max=5)),
        (None, None),
    ],
)
def test_a_part_of_the_catch_up_is_changed_and_the_rest_of_it_stays(change: object, expected: object) -> None:
    assert changed_request(FULL, {"catch_up": change}) == structs.replace(FULL, catch_up=expected)


@pytest.mark.parametrize(
    ("times", "new"),
    [
        ({"interval": 5}, {"interval": 5}),
        ({"frequency": {"timeUnit": "DAYS", "time": 2}}, {"frequency": Frequency("DAYS", 2)}),
        ({"at": NOW + 5}, {"at": NOW + 5}),
        ({"delay": 5}, {"delay": 5}),
    ],
)
def test_times_of_another_kind_take_the_place_of_the_old_ones_with_all_that_belongs_to_them(
    times: dict[str, object], new: dict[str, object]
) -> None:
    without = structs.replace(FULL, cron=None, dialect="auto", days="either", dst="vixie")

    assert changed_request(FULL, times) == structs.replace(without, **new)


def test_times_of_the_same_kind_keep_what_belongs_to_them() -> None:
    changed = changed_request(FULL, {"cron": "* * * * *", "dst": "literal"})

    assert changed == structs.replace(FULL, cron="* * * * *", dst="literal")


def test_an_interval_gives_up_its_anchor_for_other_times_only() -> None:
    interval = ScheduleRequest(job_type="t", interval=5, anchor="epoch", phase=3)

    assert changed_request(interval, {"cron": "* * * * *"}) == ScheduleRequest(job_type="t", cron="* * * * *")
    assert changed_request(interval, {"interval": 6}) == structs.replace(interval, interval=6)
    assert changed_request(interval, {"priority": 2}) == structs.replace(interval, priority=2)
    assert changed_request(interval, {"phase": 4}) == structs.replace(interval, phase=4)


def test_an_unknown_field_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(InvalidInput, match=r"^intervall: is not a known field; did you mean 'interval'\?"):
        request_from({"intervall": 5})
    with pytest.raises(InvalidInput, match=r"^qqqq: is not a known field; known are job_type, emit, "):
        request_from({"qqqq": 5})


@pytest.mark.parametrize(
    ("fields", "where"),
    [
        ({"priority": "high"}, "priority"),
        ({"catch_up": {"mode": 5}}, "catch_up.mode"),
        ({"frequency": {"timeUnit": "DAYS"}}, "frequency"),
        ({"exclude": [5]}, "exclude[0]"),
    ],
)
def test_a_value_of_another_kind_is_refused_with_its_place(fields: dict[str, object], where: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        request_from(fields)

    assert refused.value.field == where


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"every": "5m", "arguments": {"a": 1}}, {"interval": "5m", "job_arguments": {"a": 1}}),
        ({"every": "5m", "interval": None}, {"interval": "5m"}),
        ({"every": None, "interval": "5m"}, {"interval": "5m"}),
        ({"every": None}, {"interval": None}),
        ({"interval": "5m", "name": "s"}, {"interval": "5m", "name": "s"}),
    ],
)
def test_another_word_for_a_field_means_it_unless_nothing_was_given_by_it(
    fields: dict[str, object], expected: dict[str, object]
) -> None:
    assert in_one_word(fields) == expected


def test_a_field_cannot_have_two_values_by_two_words() -> None:
    with pytest.raises(InvalidInput, match=r"^every: means the same as interval"):
        in_one_word({"every": "5m", "interval": "6m"})


def test_an_event_to_emit_takes_the_place_of_a_job_type() -> None:
    changed = changed_request(FULL, {"emit": {"type": "FILE"}})

    assert changed == structs.replace(FULL, job_type="", emit=Emission(type="FILE"))
    assert changed_request(FULL, {"emit": None}) == FULL
