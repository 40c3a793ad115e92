"""`rota schedule`: made, shown, changed, paused, run, filled in."""

import os
import re
import signal
from collections.abc import Sequence
from pathlib import Path

import pytest
from msgspec import structs

from rota.engine.definitions.definitions import Definitions
from rota.engine.executors.registry import ExecutorRegistry
from rota.engine.schedules.ticker import Ticker
from rota.store import Store
from tests.cli.calling import RotaProcess, done, rota

pytestmark = pytest.mark.usefixtures("place")


@pytest.fixture(autouse=True)
def job_type() -> None:
    done("job-type", "create", "report", "--", "true")


def nightly(*words: str) -> None:
    done("schedule", "create", "nightly", "-t", "report", "--cron", "30 2 * * *", "--tz", "Europe/Berlin", *words)


def test_a_schedule_is_made_and_told_in_words() -> None:
    nightly("region=eu", "--overlap", "allow", "--catch-up", "all", "--catch-up-max", "5")

    shown = done("schedule", "show", "nightly", "--json").json

    assert shown["words"] == "at 2:30 every day (Europe/Berlin)"
    assert shown["job_arguments"] == {"region": "eu"}
    assert (shown["overlap"], shown["catch_up"]["mode"], shown["catch_up"]["max"]) == ("allow", "all", 5)
    assert shown["next"] > shown["created_at"]
    assert shown["interval"] is None


def test_every_option_reaches_the_schedule() -> None:
    done(
        *("schedule", "create", "a", "-t", "report", "--every", "90s", "--anchor", "epoch", "--phase", "5s"),
        *("--start", "2030-01-01", "--end", "2031-01-01", "--max-runs", "7", "--jitter", "2s", "--priority", "3"),
        *("--exclude", "2030-12-25", "--pause-on-failure", "--paused", "--note", "later", "--arguments", '{"n": 1}'),
        *("--catch-up-window", "2h"),
    )

    shown = done("schedule", "show", "a", "--json").json

    assert shown["interval"] == 90_000
    assert shown["trigger"] == {
        "kind": "interval",
        "every_ms": 90_000,
        "anchor": "epoch",
        "phase_ms": 5_000,
        "start": 1893456000000,
        "end": 1924992000000,
        "jitter_ms": 2_000,
    }
    assert (shown["max_runs"], shown["priority"], shown["exclude"]) == (7, 3, ["2030-12-25"])
    assert (shown["paused"], shown["note"], shown["pause_on_failure"]) == (True, "later", True)
    assert (shown["job_arguments"], shown["catch_up"]["window"]) == ({"n": 1}, 7_200_000)


@pytest.mark.parametrize("words", [["--cron", "* * * * *"], ["--every", "5s"], ["--frequency", "5 MINUTES"]])
def test_every_kind_of_times_has_the_same_defaults(words: list[str]) -> None:
    shown = done("schedule", "create", "a", "-t", "report", *words, "--json").json

    assert (shown["overlap"], shown["catch_up"]["mode"]) == ("skip", "last")


def test_what_looks_like_a_slip_is_said_when_a_schedule_is_made_or_changed() -> None:
    made = done("schedule", "create", "a", "-t", "report", "--cron", "0 0 13 * 5")
    changed = done("schedule", "edit", "a", "--cron", "0 0 * * *", "--catch-up", "all")

    assert 'warning: day "13" and weekday "5" are both restricted' in made.stderr
    assert "warning: after downtime catch_up: all fires the first missed time" in changed.stderr


def test_the_unit_of_an_interval_is_said() -> None:
    assert done("schedule", "create", "a", "-t", "report", "--every", "5s").stderr.startswith("every 5 seconds")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--cron", "61 * * * *"], "cron: "),
        (["--cron", "0 0 30 2 *"], "never fires"),
        ([], "give exactly one of cron"),
        (["--cron", "* * * * *", "--tz", "America/NewYork"], "America/New_York"),
        (["--every", "-5"], "interval"),
        (["--every", "5"], 'interval: "5" has no unit; write 5s for seconds, 5ms for milliseconds'),
        (["--delay", "5"], 'delay: "5" has no unit'),
        (["--cron", "* * * * *", "--jitter", "5"], 'jitter: "5" has no unit'),
        (["--cron", "* * * * *", "--catch-up-window", "5"], 'catch_up.window: "5" has no unit'),
        (["--every", "5m", "--max-runs", "0"], "max_runs"),
        (["--every", "5m", "--start", "2031-01-01", "--end", "2030-01-01"], "end: "),
        (["--frequency", "5"], "--frequency"),
    ],
)
def test_what_cannot_be_meant_is_refused_and_nothing_is_stored(words: list[str], says: str) -> None:
    answer = rota("schedule", "create", "a", "-t", "report", *words)

    assert answer.exit_code == 2
    assert says in answer.stderr
    assert done("schedule", "list", "--json").json == []


def test_an_unknown_job_type_is_not_found_and_a_taken_name_is_a_conflict() -> None:
    nightly()

    assert rota("schedule", "create", "a", "-t", "nope", "--every", "5m").exit_code == 3
    assert rota("schedule", "create", "nightly", "-t", "report", "--every", "5m").exit_code == 4
    assert rota("schedule", "show", "nope").exit_code == 3


def test_the_list_shows_when_in_words_and_what_comes_next() -> None:
    nightly()
    done("schedule", "create", "poll", "-t", "report", "--every", "90s", "--paused")

    table = done("schedule", "list").stdout.splitlines()

    assert table[0].split("  ")[0] == "NAME"
    assert "at 2:30 every day (Europe/Berlin)" in table[1]
    assert "paused" in table[2]


def test_times_are_shown_in_the_schedules_own_zone_with_the_offset_and_in_utc_on_request() -> None:
    made = done("schedule", "create", "tea", "-t", "report", "--cron", "30 16 * * *", "--tz", "Asia/Kolkata")
    done("schedule", "create", "launch", "-t", "report", "--at", "2090-01-31T12:00", "--tz", "America/New_York")

    local, utc = done("schedule", "list").stdout.splitlines(), done("schedule", "list", "--utc").stdout.splitlines()

    assert "16:30:00 +05:30" in made.stderr
    assert "once at 2090-01-31 12:00:00 -05:00" in local[1]
    assert "16:30:00 +05:30" in local[2]
    assert "11:00:00 UTC" in utc[2]
    assert "2090-01-31 12:00:00 -05:00" in done("schedule", "show", "launch").stdout
    assert "2090-01-31 17:00:00 UTC" in done("schedule", "show", "launch", "--utc").stdout
    assert done("schedule", "show", "tea", "--json").json["zone"] == "Asia/Kolkata"


def test_ticks_and_backfills_are_shown_in_the_schedules_own_zone() -> None:
    nightly()
    span = ["--from", "2026-01-01", "--to", "2026-01-03"]

    made = done("schedule", "backfill", "nightly", *span).stdout
    done("schedule", "pause", "nightly")

    assert "2026-01-01 02:30:00 +01:00" in made
    assert "2026-01-02 02:30:00 +01:00" in made


def test_an_edit_changes_what_is_named_and_keeps_the_rest() -> None:
    nightly("region=eu", "--overlap", "allow", "--catch-up", "all")

    done("schedule", "edit", "nightly", "--cron", "0 3 * * *", "--catch-up-max", "5")
    done("schedule", "edit", "nightly", "--name", "daily", "--end", "2040-01-01")
    done("schedule", "edit", "daily", "--unset", "end")

    shown = done("schedule", "show", "daily", "--json").json
    assert shown["words"] == "at 3:00 every day (Europe/Berlin)"
    assert (shown["overlap"], shown["job_arguments"]) == ("allow", {"region": "eu"})
    assert (shown["catch_up"]["mode"], shown["catch_up"]["max"]) == ("all", 5)
    assert "end" not in shown["trigger"]


FULL = (
    *("schedule", "create", "full", "-t", "report", "region=eu", "--start", "2030-01-01", "--end", "2040-01-01"),
    *("--max-runs", "9", "--tz", "Europe/Berlin", "--jitter", "5s", "--overlap", "buffer_one", "--catch-up", "all"),
    *("--catch-up-window", "2d", "--catch-up-max", "7", "--exclude", "2035-12-25", "--priority", "3"),
    *("--pause-on-failure", "--note", "because"),
)
CRON = ("--cron", "30 2 1 * 1", "--dialect", "quartz", "--days", "both", "--dst", "literal")
INTERVAL = ("--interval", "60s", "--anchor", "epoch", "--phase", "7s")


@pytest.mark.parametrize(
    ("times", "edit", "record"),
    [
        (CRON, ["--name", "new"], {"name": "new"}),
        (CRON, ["a=1"], {"arguments": {"a": 1}}),
        (CRON, ["--arguments", '{"a": 2}'], {"arguments": {"a": 2}}),
        (CRON, ["--cron", "31 2 1 * 1"], {"trigger.cron": "31 2 1 * 1"}),
        (CRON, ["--dialect", "unix"], {"trigger.dialect": "unix"}),
        (CRON, ["--days", "either"], {"trigger.days": "either"}),
        (CRON, ["--dst", "skip"], {"trigger.dst": "skip"}),
        (CRON, ["--tz", "America/New_York"], {"trigger.tz": "America/New_York"}),
        (CRON, ["--start", "1900000000000"], {"trigger.start": 1_900_000_000_000}),
        (CRON, ["--end", "2200000000000"], {"trigger.end": 2_200_000_000_000}),
        (CRON, ["--unset", "end"], {"trigger.end": None}),
        (CRON, ["--max-runs", "10"], {"max_runs": 10}),
        (CRON, ["--jitter", "6s"], {"trigger.jitter_ms": 6_000}),
        (CRON, ["--overlap", "allow"], {"overlap": "allow"}),
        (CRON, ["--catch-up", "last"], {"catch_up.mode": "last"}),
        (CRON, ["--catch-up-window", "3d"], {"catch_up.window_ms": 259_200_000}),
        (CRON, ["--catch-up-max", "8"], {"catch_up.max_fires": 8}),
        (CRON, ["--exclude", "2036-12-25"], {"excluded": ("2036-12-25",)}),
        (CRON, ["--priority", "0"], {"priority": 0}),
        (CRON, ["--no-pause-on-failure"], {"pause_on_failure": False}),
        (CRON, ["--note", "other"], {"pause_note": "other"}),
        (INTERVAL, ["--interval", "61s"], {"trigger.every_ms": 61_000}),
        (INTERVAL, ["--anchor", "start"], {"trigger.anchor": "start"}),
        (INTERVAL, ["--phase", "8s"], {"trigger.phase_ms": 8_000}),
    ],
)
def test_an_edit_of_one_field_changes_no_other(
    opened: Store, times: Sequence[str], edit: list[str], record: dict[str, object]
) -> None:
    uuid = done(*FULL, *times, "--json").json["uuid"]
    before = fields_of(opened, uuid)

    done("schedule", "edit", "full", *edit)

    after = fields_of(opened, uuid)
    assert {name: after[name] for name in after if after[name] != before[name]} == record


def fields_of(store: Store, uuid: str) -> dict[str, object]:
    """What is stored of a schedule, by field; defaults too."""
    (entry,) = store.find_schedules([uuid])
    assert entry is not None
    fields = structs.asdict(entry.schedule)
    for name in ("trigger", "catch_up"):
        fields |= {f"{name}.{key}": value for key, value in structs.asdict(fields.pop(name)).items()}
    return fields


def test_other_times_take_the_place_of_the_old_ones() -> None:
    nightly()

    done("schedule", "edit", "nightly", "--every", "5m")

    assert done("schedule", "show", "nightly", "--json").json["trigger"]["kind"] == "interval"


def test_an_edit_of_another_version_is_a_conflict() -> None:
    nightly()

    assert rota("schedule", "edit", "nightly", "--priority", "5", "--if-version", "7").exit_code == 4


def test_a_paused_schedule_has_no_next_time_until_it_is_resumed() -> None:
    nightly()

    paused = done("schedule", "pause", "nightly", "--note", "the database moves", "--json").json
    resumed = done("schedule", "resume", "nightly", "--json").json

    assert (paused["paused"], paused["note"], paused["next_due"]) == (True, "the database moves", None)
    assert resumed["next_due"] is not None


def test_a_schedule_can_be_run_by_hand() -> None:
    nightly()

    made = done("schedule", "run", "nightly", "--json").json

    job = done("job", made["uuid"], "--json").json
    assert job["cause"]["kind"] == "manual"


def test_a_deleted_schedule_is_gone_and_frees_its_job_type() -> None:
    nightly()

    refused = rota("job-type", "delete", "report")
    done("schedule", "delete", "nightly")
    done("job-type", "delete", "report")

    assert refused.exit_code == 4
    assert "nightly" in refused.stderr


def test_ticks_tell_what_became_of_each_time(opened: Store) -> None:
    done("schedule", "create", "poll", "-t", "report", "--every", "1s")
    Ticker(opened, Definitions(opened, ExecutorRegistry()), node="n").run_once(opened.now() + 1)

    (tick,) = done("schedule", "ticks", "poll", "--json").json

    assert (tick["status"], tick["by"], tick["count"]) == ("fired", "n", 1)
    assert done("job", tick["job"], "--json").json["cause"]["instant"] == tick["nominal"]
    assert "fired" in done("schedule", "ticks", "poll").stdout
    assert "fired" in done("schedule", "list").stdout


def test_a_backfill_is_previewed_made_shown_and_cancelled() -> None:
    nightly()
    span = ["--from", "2026-01-01", "--to", "2026-01-11"]

    preview = done("schedule", "backfill", "nightly", *span, "--preview", "--json").json
    assert done("jobs", "--json").json == []
    made = done("schedule", "backfill", "nightly", *span, "--json").json
    progress = done("schedule", "backfill", "nightly", "--progress", made["id"], "--json").json
    cancelled = done("schedule", "backfill", "nightly", "--cancel", made["id"], "--json").json

    assert preview["jobs"] == made["jobs"] == 10
    assert (preview["first"], preview["last"]) == (1767231000000, 1768008600000)
    assert progress["jobs"]["queued"] == 10
    assert cancelled["cancelled"] == 10


def test_who_stops_waiting_for_a_backfill_knows_its_id(folder: Path) -> None:
    nightly()
    words = ["schedule", "backfill", "nightly", "--from", "2026-01-01", "--to", "2026-01-11", "--wait"]
    variables = {name: os.environ[name] for name in ("ROTA_SERVER", "ROTA_API_KEY") if name in os.environ}

    with RotaProcess(words, folder, **variables) as waiting:
        waiting.until_said("Waiting for backfill ")
        assert waiting.stop(signal.SIGINT) == 130

    found = re.search(r"Waiting for backfill (\S+), which goes on without us", "".join(waiting.stderr))
    assert found
    assert done("schedule", "backfill", "nightly", "--cancel", found[1], "--json").json["cancelled"] == 10


def test_a_backfill_without_a_range_is_a_usage_error() -> None:
    nightly()

    assert rota("schedule", "backfill", "nightly").exit_code == 2
    assert rota("schedule", "backfill", "nightly", "--from", "2026-01-01", "--to", "2020-01-01").exit_code == 2


def test_a_scheduler_fires_and_a_worker_runs(folder: Path) -> None:
    with RotaProcess(["up", "--port", "0", "--no-demo", "--json"], folder) as process:
        process.banner()
        done("schedule", "create", "now", "-t", "report", "--delay", "1ms")

        process.until(lambda: bool(done("jobs", "--state", "succeeded", "--json").json), "the job of the schedule")
        assert process.stop() == 0

    (job,) = done("jobs", "--json").json
    assert job["cause"]["kind"] == "schedule"


def test_a_list_says_when_there_is_more_than_it_shows() -> None:
    for name in ("a", "b", "c"):
        done("schedule", "create", name, "-t", "report", "--every", "90s")

    cut, whole = done("schedule", "list", "--limit", "2"), done("schedule", "list", "--limit", "3")

    assert [line.split()[0] for line in cut.stdout.splitlines()] == ["NAME", "a", "b"]
    assert "There are more than 2" in cut.stderr
    assert [line.split()[0] for line in whole.stdout.splitlines()] == ["NAME", "a", "b", "c"]
    assert "There are more" not in whole.stderr


def test_a_list_may_be_of_one_job_type() -> None:
    done("job-type", "create", "other", "--", "true")
    done("schedule", "create", "a", "-t", "report", "--every", "90s")
    done("schedule", "create", "b", "-t", "other", "--every", "90s")

    assert [one["name"] for one in done("schedule", "list", "--type", "other", "--json").json] == ["b"]
    assert rota("schedule", "list", "--type", "nope").exit_code == 3


def test_several_schedules_are_deleted_together_or_not_at_all() -> None:
    for name in ("a", "b", "c"):
        done("schedule", "create", name, "-t", "report", "--every", "90s")

    assert rota("schedule", "delete", "a", "nope").exit_code == 3
    deleted = done("schedule", "delete", "a", "b", "--json").json

    assert [one["name"] for one in deleted] == ["a", "b"]
    assert [one["name"] for one in done("schedule", "list", "--json").json] == ["c"]


def test_ticks_are_shown_up_to_a_limit_the_latest_first(opened: Store) -> None:
    done("schedule", "create", "poll", "-t", "report", "--every", "1s", "--anchor", "epoch", "--catch-up", "all")
    ticker = Ticker(opened, Definitions(opened, ExecutorRegistry()), node="n")
    ticker.run_once(opened.now() + 5_000)

    rows = done("schedule", "ticks", "poll", "--json").json

    assert len(rows) >= 5
    assert [row["nominal"] for row in rows] == sorted((row["nominal"] for row in rows), reverse=True)
    assert done("schedule", "ticks", "poll", "--limit", "2", "--json").json == rows[:2]


def test_a_schedule_is_shown_with_all_that_was_said_of_it() -> None:
    nightly(
        *("region=eu", "--max-runs", "3", "--catch-up", "all", "--catch-up-window", "none", "--exclude", "2030-12-25"),
        *("--pause-on-failure", "--overlap", "buffer_one"),
    )
    done("schedule", "pause", "nightly", "--note", "the database moves")

    shown = dict(line.split(None, 1) for line in done("schedule", "show", "nightly").stdout.splitlines())

    assert shown["runs"] == "0 of 3"
    assert shown["catch-up"] == "all, any age, at most 100"
    assert shown["overlap"] == "buffer_one"
    assert shown["arguments"] == '{"region":"eu"}'
    assert shown["excluded"] == '["2030-12-25"]'
    assert shown["paused"] == "the database moves"
    assert shown["next"] == "paused"
    assert shown["version"] == "2"


def test_an_edit_sets_back_what_is_named_and_can_be_bound_to_a_version() -> None:
    nightly("--priority", "5", "--max-runs", "3", "--note", "why")

    changed = done("schedule", "edit", "nightly", "--unset", "max_runs", "--if-version", "1", "--json").json

    assert (changed["max_runs"], changed["priority"], changed["version"]) == (None, 5, 2)
    assert rota("schedule", "edit", "nightly", "--priority", "1", "--if-version", "1").exit_code == 4
    assert done("schedule", "show", "nightly", "--json").json["priority"] == 5


def test_a_backfill_obeys_its_options() -> None:
    nightly("--priority", "5")
    span = ["--from", "2026-01-01", "--to", "2026-01-11"]

    refused = rota("schedule", "backfill", "nightly", *span, "--max", "9")
    made = done(
        "schedule", "backfill", "nightly", *span, "--max", "10", "--priority", "7", "--overlap", "allow", "--json"
    )
    done("schedule", "backfill", "nightly", *span, "--force")

    assert (refused.exit_code, "more than 9" in refused.stderr) == (2, True)
    assert made.json["jobs"] == 10
    jobs = done("jobs", "--json", "--limit", "50").json
    assert sorted(job["priority"] for job in jobs) == [-95] * 10 + [7] * 10
