"""What users write for a schedule: every field reaches it, what is left open has its standard, nonsense is named."""

import pytest
from msgspec import structs

from rota.errors import InvalidInput
from rota.model.schedules.request import CatchUpRequest, Emission, Frequency, ScheduleRequest, make_schedule
from rota.model.schedules.schedule import Overlap, Schedule
from rota.model.triggers.catch_up import CatchUp, CatchUpMode
from rota.model.triggers.cron.cron import Days, Dialect
from rota.model.triggers.cron.fires import Dst
from rota.model.triggers.interval import Anchor, TimeUnit
from rota.model.triggers.trigger import CronTrigger, FrequencyTrigger, IntervalTrigger, OnceTrigger, Trigger
from tests.model.triggers.instants import ms

NOW = ms("2026-05-01T12:00")
DAY = 86_400_000


def made(**wish: object) -> Schedule:
    request = ScheduleRequest(**{"job_type": "report"} | wish)  # type: ignore[arg-type]
    return make_schedule(request, uuid="u", job_type="t", queue="q", created_at=NOW, now=NOW)


def test_a_request_with_the_least_has_the_standard_of_everything_else() -> None:
    assert made(cron="30 2 * * *") == Schedule(
        uuid="u",
        name="u",
        trigger=CronTrigger(cron="30 2 * * *"),
        queue="q",
        job_type="t",
        arguments={},
        priority=0,
        max_runs=None,
        overlap=Overlap.SKIP,
        catch_up=CatchUp(mode=CatchUpMode.LAST, window_ms=86_400_000, max_fires=100),
        paused=False,
        pause_note="",
        pause_on_failure=False,
        excluded=(),
        created_at=NOW,
        managed_by="",
    )


def test_every_field_reaches_the_schedule() -> None:
    request = ScheduleRequest(
        job_type="report",
        name="nightly",
        job_arguments={"a": 1},
        cron="30 2 1 * MON",
        dialect="quartz",
        days="both",
        dst="skip",
        start="2027-01-01",
        end="2028-01-01",
        max_runs=7,
        tz="Europe/Berlin",
        jitter="90s",
        overlap="buffer_one",
        catch_up=CatchUpRequest(mode="all", window="2h", max=5),
        exclude=["2027-12-26", "2027-12-25", "2027-12-26"],
        priority=3,
        paused=True,
        note="later",
        pause_on_failure=True,
    )

    schedule = make_schedule(request, uuid="u", job_type="t", queue="q", created_at=5, now=NOW, managed_by="file")

    assert schedule == Schedule(
        uuid="u",
        name="nightly",
        trigger=CronTrigger(
            cron="30 2 1 * MON",
            dialect=Dialect.QUARTZ,
            days=Days.BOTH,
            dst=Dst.SKIP,
            start=ms("2027-01-01T00:00+01:00"),
            end=ms("2028-01-01T00:00+01:00"),
            tz="Europe/Berlin",
            jitter_ms=90_000,
        ),
        queue="q",
        job_type="t",
        arguments={"a": 1},
        priority=3,
        max_runs=7,
        overlap=Overlap.BUFFER_ONE,
        catch_up=CatchUp(mode=CatchUpMode.ALL, window_ms=7_200_000, max_fires=5),
        paused=True,
        pause_note="later",
        pause_on_failure=True,
        excluded=("2027-12-25", "2027-12-26"),
        created_at=5,
        managed_by="file",
    )


@pytest.mark.parametrize(
    ("wish", "trigger"),
    [
        ({"interval": 5_000}, IntervalTrigger(every_ms=5_000, anchor=Anchor.SCHEDULED)),
        ({"interval": "90s"}, IntervalTrigger(every_ms=90_000, anchor=Anchor.SCHEDULED)),
        ({"interval": 5, "start": 9}, IntervalTrigger(every_ms=5, anchor=Anchor.START, start=9)),
        ({"interval": 5, "start": 9, "anchor": "ended"}, IntervalTrigger(every_ms=5, anchor=Anchor.ENDED, start=9)),
        (
            {"interval": "1h", "anchor": "epoch", "phase": "5m"},
            IntervalTrigger(every_ms=3_600_000, anchor=Anchor.EPOCH, phase_ms=300_000),
        ),
        ({"frequency": Frequency("HOURS", 2)}, FrequencyTrigger(time=2, unit=TimeUnit.HOURS)),
        ({"at": NOW + 5}, OnceTrigger(at=NOW + 5)),
        ({"at": "2026-07-01T08:00", "tz": "Asia/Tokyo"}, OnceTrigger(at=ms("2026-07-01T08:00+09:00"), tz="Asia/Tokyo")),
        ({"delay": "2m"}, OnceTrigger(delay_ms=120_000)),
        ({"delay": 0}, OnceTrigger(delay_ms=0)),
        (
            {"cron": "* * * * *", "utc": True, "tz": "Asia/Tokyo"},
            CronTrigger(cron="* * * * *", utc=True, tz="Asia/Tokyo"),
        ),
    ],
)
def test_each_kind_of_times_is_read(wish: dict[str, object], trigger: Trigger) -> None:
    assert made(**wish).trigger == trigger


@pytest.mark.parametrize(
    ("wish", "overlap", "mode"),
    [
        ({"cron": "* * * * *"}, "skip", "last"),
        ({"interval": 5}, "skip", "last"),
        ({"interval": 5, "anchor": "scheduled"}, "skip", "last"),
        ({"interval": 5, "anchor": "ended"}, "skip", "last"),
        ({"interval": 5, "anchor": "epoch"}, "skip", "last"),
        ({"interval": 5, "start": NOW + 5}, "skip", "last"),
        ({"delay": 5}, "skip", "last"),
        ({"interval": 5, "overlap": "skip", "catch_up": "all"}, "skip", "all"),
        ({"cron": "* * * * *", "overlap": "ALLOW", "catch_up": "none"}, "allow", "none"),
        ({"cron": "* * * * *", "emit": Emission()}, "allow", "last"),
    ],
)
def test_what_is_left_open_is_the_same_for_every_kind(wish: dict[str, object], overlap: str, mode: str) -> None:
    schedule = made(**wish)

    assert (schedule.overlap.value, schedule.catch_up.mode.value) == (overlap, mode)


@pytest.mark.parametrize(
    ("wish", "policy"),
    [
        ("all", CatchUp(mode=CatchUpMode.ALL, window_ms=DAY, max_fires=100)),
        (CatchUpRequest(), CatchUp(mode=CatchUpMode.LAST, window_ms=DAY, max_fires=100)),
        (CatchUpRequest(window="none"), CatchUp(mode=CatchUpMode.LAST, window_ms=None, max_fires=100)),
        (CatchUpRequest(window=10_000), CatchUp(mode=CatchUpMode.LAST, window_ms=10_000, max_fires=100)),
        (CatchUpRequest(mode="none", max=1), CatchUp(mode=CatchUpMode.NONE, window_ms=DAY, max_fires=1)),
        (CatchUpRequest(max=10_000), CatchUp(mode=CatchUpMode.LAST, window_ms=DAY, max_fires=10_000)),
    ],
)
def test_catch_up_is_a_word_or_a_policy(wish: object, policy: CatchUp) -> None:
    assert made(cron="* * * * *", catch_up=wish).catch_up == policy


@pytest.mark.parametrize(
    ("wish", "field"),
    [
        ({}, "cron"),
        ({"cron": "* * * * *", "delay": 5}, "cron"),
        ({"cron": "* * * * *", "name": "two\nlines"}, "name"),
        ({"cron": "* * * * *", "name": ""}, "name"),
        ({"cron": "* * * * *", "priority": 10_001}, "priority"),
        ({"cron": "* * * * *", "priority": -10_001}, "priority"),
        ({"cron": "* * * * *", "max_runs": 0}, "max_runs"),
        ({"cron": "* * * * *", "job_arguments": {"a": float("nan")}}, "job_arguments.a"),
        ({"cron": "* * * * *", "exclude": ["Christmas"]}, "exclude"),
        ({"cron": "* * * * *", "exclude": ["2026-02-30"]}, "exclude"),
        ({"cron": "* * * * *", "exclude": ["2026-01-01"] * 1_001}, "exclude"),
        ({"cron": "* * * * *", "jitter": -1}, "jitter"),
        ({"cron": "* * * * *", "jitter": DAY + 1}, "jitter"),
        ({"cron": "* * * * *", "jitter": "soon"}, "jitter"),
        ({"cron": "* * * * *", "catch_up": "some"}, "catch_up.mode"),
        ({"cron": "* * * * *", "catch_up": CatchUpRequest(window="9s")}, "catch_up.window"),
        ({"cron": "* * * * *", "catch_up": CatchUpRequest(window="soon")}, "catch_up.window"),
        ({"cron": "* * * * *", "catch_up": CatchUpRequest(max=0)}, "catch_up.max"),
        ({"cron": "* * * * *", "catch_up": CatchUpRequest(max=10_001)}, "catch_up.max"),
        ({"cron": "* * * * *", "start": "soon"}, "start"),
        ({"cron": "* * * * *", "end": "soon"}, "end"),
        ({"cron": "* * * * *", "start": NOW + 2 * DAY, "end": NOW + DAY}, "end"),
        ({"cron": "* * * * *", "end": NOW - 1}, "cron"),
        ({"interval": 5, "phase": "soon"}, "phase"),
        ({"interval": 5, "phase": -1}, "phase"),
        ({"interval": 5, "anchor": "ship"}, "anchor"),
        ({"interval": 10 * 365 * DAY + 1}, "interval"),
        ({"delay": -1}, "delay"),
        ({"frequency": Frequency("WEEKS", 1)}, "timeUnit"),
        ({"frequency": Frequency("DAYS", 3_651)}, "time"),
    ],
)
def test_what_cannot_be_meant_names_the_field(wish: dict[str, object], field: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        made(**wish)

    assert refused.value.field == field


@pytest.mark.parametrize(
    "wish",
    [
        {"cron": "* * * * *", "priority": 10_000, "max_runs": 1},
        {"cron": "* * * * *", "priority": -10_000, "max_runs": 1 << 53},
        {"cron": "* * * * *", "jitter": DAY},
        {"cron": "* * * * *", "exclude": [f"{year}-01-01" for year in range(1_500, 2_500)]},
        {"cron": "* * * * *", "start": NOW + DAY, "end": NOW + DAY},
        {"interval": 10 * 365 * DAY},
        {"interval": 1},
        {"frequency": Frequency("DAYS", 3_650)},
    ],
)
def test_what_is_just_within_its_bounds_is_taken(wish: dict[str, object]) -> None:
    made(**wish)


def test_a_time_that_is_over_is_refused_only_when_it_is_said_what_time_it_is() -> None:
    request = ScheduleRequest(job_type="report", cron="* * * * *", end=NOW - DAY)

    make_schedule(request, uuid="u", job_type="t", queue="q", created_at=NOW, now=None)
    with pytest.raises(InvalidInput):
        make_schedule(request, uuid="u", job_type="t", queue="q", created_at=NOW, now=NOW)


# To emit an event


def test_to_emit_an_event_is_to_make_a_job_that_does() -> None:
    request = ScheduleRequest(name="tick", cron="* * * * *", emit=Emission(type="FILE", resource="/in"))

    settled = request.settled()

    assert (settled.job_type, settled.job_arguments) == ("rota.emit", {"type": "FILE", "resourceId": "/in"})
    assert settled.settled() == settled


def test_an_event_without_a_resource_is_named_after_its_schedule() -> None:
    settled = ScheduleRequest(name="tick", cron="* * * * *", emit=Emission()).settled()

    assert settled.job_arguments == {"type": "TIME_BASED", "resourceId": "tick"}


def test_a_schedule_has_a_job_type_or_an_event_and_not_both() -> None:
    plain = ScheduleRequest(job_type="report", cron="* * * * *")

    assert plain.settled() == plain
    with pytest.raises(InvalidInput, match=r"^emit: "):
        structs.replace(plain, emit=Emission()).settled()
    with pytest.raises(InvalidInput, match=r"^job_type: "):
        structs.replace(plain, job_type="").settled()


# As in Synchrony


def test_an_interval_of_synchrony_makes_its_jobs_whatever_still_runs_and_catches_up_on_nothing() -> None:
    plain = ScheduleRequest(job_type="report", interval=60_000)

    assert plain.as_in_synchrony() == structs.replace(plain, overlap="allow", catch_up="none")


@pytest.mark.parametrize(
    "wish",
    [
        {"interval": 60_000, "overlap": "skip", "catch_up": "all"},
        {"cron": "* * * * *"},
        {"frequency": Frequency("HOURS", 2)},
        {"at": NOW + DAY},
        {"delay": 5},
    ],
)
def test_what_is_said_to_synchrony_and_what_it_does_not_know_stays_as_it_is(wish: dict[str, object]) -> None:
    request = ScheduleRequest(job_type="report", **wish)  # type: ignore[arg-type]

    assert request.as_in_synchrony() == request
