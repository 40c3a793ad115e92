"""`rota event`, `rota configuration`, `rota explain` and `rota watch`."""

import os
from pathlib import Path

import msgspec
import pytest

from tests.cli.calling import RotaProcess, done, rota
from tests.engine.events.installation import needs

pytestmark = pytest.mark.usefixtures("place")

HOURLY = """configurations:
  - name: hourly
    dependencies:
      - {type: FILE, resourceId: /in/, lifeDuration: 3600}
      - {type: TIME_BASED, resourceId: cron, lifeDuration: "0"}
"""


@pytest.fixture
def hourly(folder: Path) -> Path:
    """A store with the configuration `hourly`; returns the folder."""
    (folder / "hourly.yaml").write_text(HOURLY)
    assert done("configuration", "create", "-f", "hourly.yaml").stdout == "hourly\n"
    return folder


def test_a_bad_timestamp_is_bad_input(hourly: Path) -> None:
    answer = rota("event", "post", "FILE", "/in/a", "--at", "soon")

    assert answer.exit_code == 2
    assert "eventTimestamp" in answer.stderr


def test_events_are_posted_explained_and_listed(hourly: Path) -> None:
    done("event", "post", "FILE", "/in/a.csv", "--at", "2021-01-01 12:00:00")
    preview = done("event", "post", "TIME_BASED", "cron", "--at", "2021-01-01 12:30:00", "--dry-run", "--json").json
    made = done("event", "post", "TIME_BASED", "cron", "--at", "2021-01-01 12:30:00", "--json").json

    assert preview["evaluations"][0]["verdict"] == "triggered"
    assert [one["configuration"] for one in made["triggered"]] == ["hourly"]
    assert done("job", made["triggered"][0]["job"], "--json").json["job_type"] == "rota.log"
    told = done("explain", "hourly")
    assert "hourly fired on TIME_BASED cron" in told.stdout
    assert "1800 s" in told.stdout
    assert done("explain", "hourly", "--json").json["verdict"] == "triggered"
    listed = done("event", "list", "hourly", "--json").json
    assert {one["event"]["resourceId"] for one in listed} == {"cron", "/in/a.csv"}
    assert "/in/a.csv" in done("event", "list").stdout


def test_of_what_is_missing_it_is_said_that_one_suffices(hourly: Path) -> None:
    (hourly / "either.yaml").write_text(
        "owner: other\nconfigurations: [{name: either, dependencies: [{any_of: ["
        "{type: FILE, resourceId: /a/, lifeDuration: 86400}, {type: FILE, resourceId: /b/, lifeDuration: 86400}]},"
        " {type: TABLE, resourceId: t, lifeDuration: 86400}]}]"
    )
    done("apply", "-f", "either.yaml")

    assert "Missing now: (any one of FILE /a/, FILE /b/), TABLE t.\n" in done("explain", "either").stdout
    done("event", "post", "FILE", "/b/1")
    assert "Missing now: TABLE t.\n" in done("explain", "either").stdout


def test_an_event_that_did_nothing_is_told_why(hourly: Path) -> None:
    done("event", "post", "FILE", "/in/a", "--at", "2021-01-01 12:00:00", "--id", "one")
    again = done("event", "post", "FILE", "/in/a", "--at", "2021-01-01 12:00:00", "--id", "one")
    done("event", "post", "TIME_BASED", "cron", "--at", "2021-01-01 12:30:00")
    older = done("event", "post", "FILE", "/in/b", "--at", "2021-01-01 12:10:00")
    nothing = done("event", "post", "FILE", "/out/a")

    assert again.stderr == "The event did not count for hourly: one with its id had counted before.\n"
    assert "not newer than the last execution, 2021-01-01T12:30:00.000000Z" in older.stderr
    assert "matched no configuration; rota configuration list" in nothing.stderr
    assert nothing.stdout == ""


def test_each_event_of_a_file_that_matched_nothing_is_told_by_its_place(hourly: Path) -> None:
    event = {"eventType": "FILE", "eventTimestamp": "2021-01-01 12:00:00", "eventResourceId": "/out"}
    (hourly / "events.json").write_bytes(msgspec.json.encode([{**event, "eventType": "x"}, event]))

    assert "Event [1] matched no configuration" in done("event", "post", "-f", "events.json").stderr


def test_a_file_of_events_is_posted_and_bad_ones_are_named(hourly: Path) -> None:
    event = {"eventType": "FILE", "eventTimestamp": "2021-01-01 12:00:00", "eventResourceId": "/in/a"}
    (hourly / "events.json").write_bytes(msgspec.json.encode([event, {**event, "eventType": "x"}]))

    answer = done("event", "post", "-f", "events.json")

    assert "validated  hourly" in answer.stdout
    assert "Refused [1].eventType" in answer.stderr
    (hourly / "bad.json").write_text("[{}]")
    assert rota("event", "post", "-f", "bad.json").exit_code == 2
    assert rota("event", "post", "-f", "none.json").exit_code == 2
    assert rota("event", "post", "FILE").exit_code == 2


def test_configurations_are_listed_shown_replaced_and_deleted(hourly: Path) -> None:
    assert [one["name"] for one in done("configuration", "list", "--json").json] == ["hourly"]
    assert "hourly" in done("configuration", "list").stdout
    assert done("configuration", "show", "hourly", "--json").json["dependencies"][0] == needs("FILE", "/in/", 3600)
    assert "/in/" in done("configuration", "show", "hourly").stdout
    assert rota("configuration", "create", "-f", "hourly.yaml").exit_code == 4
    done("configuration", "create", "-f", "hourly.yaml", "--replace")

    done("configuration", "delete", "hourly")

    assert rota("configuration", "show", "hourly").exit_code == 3
    assert rota("explain", "hourly").exit_code == 3


def test_several_configurations_are_deleted_together_or_not_at_all(hourly: Path) -> None:
    (hourly / "daily.yaml").write_text(HOURLY.replace("hourly", "daily"))
    done("configuration", "create", "-f", "daily.yaml")

    assert rota("configuration", "delete", "hourly", "nope").exit_code == 3
    assert [one["name"] for one in done("configuration", "list", "--json").json] == ["daily", "hourly"]
    assert [one["name"] for one in done("configuration", "delete", "hourly", "daily", "--json").json] == [
        "hourly",
        "daily",
    ]
    assert done("configuration", "list", "--json").json == []


def test_a_list_counts_dependencies_in_groups_too_and_a_file_without_any_is_refused(hourly: Path) -> None:
    part = "{type: FILE, resourceId: /%s/, lifeDuration: 60}"
    either = ", ".join(part % name for name in "ab")
    (hourly / "three.yaml").write_text(
        f"configurations: [{{name: three, dependencies: [{part % 'c'}, {{any_of: [{either}]}}]}}]"
    )
    (hourly / "none.yaml").write_text("job_types: []\n")
    done("configuration", "create", "-f", "three.yaml")

    refused = rota("configuration", "create", "-f", "none.yaml")

    rows = [line.split()[:2] for line in done("configuration", "list").stdout.splitlines()[1:]]
    assert rows == [["hourly", "2"], ["three", "3"]]
    assert (refused.exit_code, "none.yaml: has no configurations" in refused.stderr) == (2, True)


def test_what_expires_next_is_told_and_a_list_is_cut_behind_the_latest_events(hourly: Path) -> None:
    for name in "abc":
        done("event", "post", "FILE", f"/in/{name}", "--at", "2021-01-01 12:00:00")
    (hourly / "ages.yaml").write_text(
        "configurations: [{name: ages, dependencies: [{type: TABLE, resourceId: t, lifeDuration: 86400},"
        " {type: TIME_BASED, resourceId: never, lifeDuration: 60}]}]"
    )
    done("configuration", "create", "-f", "ages.yaml")
    done("event", "post", "TABLE", "t")

    assert "\nExpires next: TABLE t, at 2" in done("explain", "ages").stdout
    assert [one["event"]["resourceId"] for one in done("event", "list", "--limit", "1", "--json").json] == ["t"]


def test_what_is_wrong_in_a_file_is_told_with_its_line(folder: Path) -> None:
    (folder / "bad.yaml").write_text(HOURLY.replace("3600", "-1"))
    (folder / "typo.yaml").write_text(HOURLY.replace("lifeDuration: 3600", "lifeDurtion: 3600"))

    negative = rota("configuration", "create", "-f", "bad.yaml")
    typo = rota("configuration", "create", "-f", "typo.yaml")

    assert (negative.exit_code, typo.exit_code) == (2, 2)
    assert "bad.yaml:4: configurations[0].dependencies[0].lifeDuration" in negative.stderr
    assert "typo.yaml:4" in typo.stderr
    assert "did you mean 'lifeDuration'?" in typo.stderr


def test_new_files_in_a_watched_directory_are_events(hourly: Path) -> None:
    inbox = hourly / "inbox"
    (inbox / "deep").mkdir(parents=True)
    (inbox / "old.csv").write_text("old")
    (hourly / "rule.yaml").write_text(
        f"configurations: [{{name: files, dependencies: [{{type: FILE, resourceId: {inbox}/, lifeDuration: 60}}]}}]"
    )
    done("configuration", "create", "-f", "rule.yaml")

    with RotaProcess(["watch", str(inbox), "--existing"], hourly) as watch:
        watch.until(lambda: any("Watching" in line for line in watch.stderr), "the watch to begin")
        (hourly / "new.csv").write_text("new")
        os.utime(hourly / "new.csv", (4_102_444_800, 4_102_444_800))  # counts as now, however coarse a file's time is
        new = (hourly / "new.csv").rename(inbox / "deep" / "new.csv")
        watch.until(lambda: f"{new}\n" in watch.stdout, "the new file to be told")
        assert watch.stop() == 0

    told = [line.strip() for line in watch.stdout]
    assert told[0] == str(inbox / "old.csv")
    listed = done("event", "list", "files", "--limit", "1000", "--json").json
    assert str(inbox / "old.csv") in {one["event"]["resourceId"] for one in listed}
    assert done("configuration", "show", "files", "--json").json["triggered"] >= 2
