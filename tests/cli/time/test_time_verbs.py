"""`rota next` and `rota simulate`: looking before running."""

from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.cli.calling import done, rota


def test_next_gives_each_instant_in_utc_and_in_the_zone() -> None:
    words = ["30 2 * * *", "--tz", "Europe/Berlin", "--from", "2026-03-27", "--count", "3", "--json"]

    fires = done("next", *words).json

    assert [(one["utc"], one["local"]) for one in fires] == [
        ("2026-03-27T01:30:00Z", "2026-03-27T02:30:00+01:00"),
        ("2026-03-28T01:30:00Z", "2026-03-28T02:30:00+01:00"),
        ("2026-03-29T01:00:00Z", "2026-03-29T03:00:00+02:00"),
    ]
    assert fires[0]["instant"] == 1774575000000
    assert [one["note"] for one in fires] == [None, None, "29 Mar: 02:30 does not exist → 03:00"]


def test_next_shows_words_notes_and_warnings_to_people() -> None:
    answer = done("next", "* 2 * * *", "--tz", "Europe/Berlin", "--from", "2026-10-24T12:00", "--count", "130")

    assert "did you mean `0 2 * * *`?" in answer.stderr
    assert "fires both times" in answer.stdout


def test_next_shows_the_times_of_a_line_in_utc_once() -> None:
    shown = done("next", "0 9 * * *", "--from", "2026-01-01", "--count", "1").stdout

    assert [line.split() for line in shown.splitlines()] == [["UTC", "NOTE"], ["2026-01-01", "09:00:00Z"]]


@pytest.mark.parametrize("dst", ["literal", "skip"])
def test_next_obeys_the_dst_rule(dst: str) -> None:
    words = ["30 2 * * *", "--tz", "Europe/Berlin", "--from", "2026-03-28T12:00", "--count", "1", "--json"]

    (fire,) = done("next", *words, "--dst", dst).json

    assert fire["local"] == "2026-03-30T02:30:00+02:00"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["61 * * * *"], "cron: "),
        (["0 0 30 2 *"], "never fires"),
        (["* * * * *", "--tz", "Berlin"], "Europe/Berlin"),
        (["* * * * *", "--dst", "both"], "dst: "),
        (["* * * * *", "--from", "soon"], "--from"),
        (["0 0 0 1 1 ? 2020", "--from", "2026-01-01"], "does not fire after"),
    ],
)
def test_next_says_what_is_wrong(words: list[str], says: str) -> None:
    answer = rota("next", *words)

    assert answer.exit_code == 2
    assert says in answer.stderr


def test_next_of_every_is_counted_from_the_beginning() -> None:
    fires = done("next", "@every 90s", "--from", "2026-01-01", "--count", "2", "--json").json

    assert [one["utc"] for one in fires] == ["2026-01-01T00:01:30Z", "2026-01-01T00:03:00Z"]


@pytest.fixture
def schedules() -> None:
    done("job-type", "create", "report", "--", "true")
    done("schedule", "create", "nightly", "-t", "report", "--cron", "30 2 * * *", "--tz", "Europe/Berlin")
    done("schedule", "create", "busy", "-t", "report", "--cron", "*/10 * * * *")
    done("schedule", "create", "asleep", "-t", "report", "--cron", "* * * * *", "--paused")


@pytest.mark.usefixtures("schedules")
def test_simulate_shows_what_would_fire_and_fires_nothing() -> None:
    span = ["--from", "2030-03-31", "--to", "2030-03-31T03:30", "--tz", "Europe/Berlin"]

    ticks = done("simulate", *span, "--json").json

    nightly = [one["local"] for one in ticks if one["schedule"] == "nightly"]
    assert nightly == ["2030-03-31T03:00:00+02:00"]
    assert sum(one["schedule"] == "busy" for one in ticks) == 16
    assert "asleep" not in {one["schedule"] for one in ticks}
    assert done("jobs", "--json").json == []
    assert done("schedule", "ticks", "nightly", "--json").json == []


@pytest.mark.usefixtures("schedules")
def test_simulate_shows_a_past_range_too() -> None:
    done("schedule", "create", "once in 2020", "-t", "report", "--cron", "0 0 * * *", "--max-runs", "1")

    ticks = done("simulate", "--from", "2020-03-28", "--to", "2020-03-30", "--tz", "Europe/Berlin", "--json").json

    fires = [(one["schedule"], one["local"]) for one in ticks if one["schedule"] != "busy"]
    assert fires == [
        ("once in 2020", "2020-03-28T01:00:00+01:00"),
        ("nightly", "2020-03-28T02:30:00+01:00"),
        ("nightly", "2020-03-29T03:00:00+02:00"),
    ]


@pytest.mark.usefixtures("schedules")
def test_simulate_shows_each_schedule_in_its_own_zone_unless_told() -> None:
    span = ["--from", "2030-01-01", "--to", "2030-01-01T01:40"]

    own, told = done("simulate", *span).stdout, done("simulate", *span, "--tz", "Asia/Kolkata").stdout

    assert "2030-01-01 02:30:00 +01:00  nightly" in own
    assert "2030-01-01 00:10:00 UTC     busy" in own
    assert "+05:30" in told
    assert "+01:00" not in told


@pytest.mark.usefixtures("schedules")
def test_simulate_with_long_jobs_shows_what_is_skipped() -> None:
    span = ["--from", "2030-01-01", "--to", "2030-01-01T00:59", "--schedule", "busy", "--job-time", "15m"]

    ticks = done("simulate", *span, "--json").json

    assert [one["status"] for one in ticks] == ["fired", "skipped", "fired", "skipped", "fired", "skipped"]
    assert "skipped" in done("simulate", *span).stdout


@pytest.mark.usefixtures("schedules")
@pytest.mark.parametrize(("end", "cells"), [("2030-01-07", 7 * 24), ("2031-01-01", 366)])
def test_simulate_draws_a_calendar(folder: Path, end: str, cells: int) -> None:
    done("simulate", "--from", "2030-01-01", "--to", end, "--svg", "fires.svg")

    picture = ElementTree.parse(folder / "fires.svg").getroot()
    boxes = picture.findall(".//{http://www.w3.org/2000/svg}rect")
    assert len(boxes) == cells


@pytest.mark.usefixtures("schedules")
def test_simulate_refuses_what_would_be_endless() -> None:
    answer = rota("simulate", "--from", "2030-01-01", "--to", "2031-01-01", "--max", "100")

    assert answer.exit_code == 2
    assert "more than 100" in answer.stderr
    assert rota("simulate", "--from", "2030-01-01", "--to", "2029-01-01").exit_code == 2
