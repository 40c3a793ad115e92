"""`rota apply` and `rota diff`: definitions kept in a file."""

from pathlib import Path

import pytest

from tests.cli.calling import RotaProcess, done, rota

pytestmark = pytest.mark.usefixtures("place")

FILE = """\
job_types:
  - {name: report, executor: bash, metadata: {command: ["true"]}}
schedules:
  - {name: nightly, job_type: report, cron: "30 2 * * *", tz: Europe/Berlin, overlap: skip, catch_up: last}
"""


@pytest.fixture
def file(folder: Path) -> Path:
    path = folder / "jobs.yaml"
    path.write_text(FILE)
    return path


def test_a_diff_shows_what_apply_does(file: Path) -> None:
    before = done("diff", "-f", "jobs.yaml").stdout
    assert done("schedule", "list", "--json").json == []

    applied = done("apply", "-f", "jobs.yaml").stdout

    assert before == applied == "+ job type report\n+ schedule nightly\n"
    assert done("diff", "-f", "jobs.yaml", "--json").json == []


def test_without_a_name_the_configuration_file_of_the_folder_is_meant(file: Path) -> None:
    without = rota("apply")
    file.rename(file.with_name("rota.yaml"))

    assert (without.exit_code, "there is no rota.yaml in this folder" in without.stderr) == (2, True)
    assert done("diff").stdout == done("apply").stdout == "+ job type report\n+ schedule nightly\n"
    assert done("diff", "--json").json == []


def test_a_change_is_told_field_by_field(file: Path) -> None:
    done("apply", "-f", "jobs.yaml")
    file.write_text(FILE.replace("overlap: skip", "overlap: allow"))

    assert done("diff", "-f", "jobs.yaml").stdout == '~ schedule nightly\n    overlap: "skip" -> "allow"\n'


def test_times_are_told_with_their_units(file: Path) -> None:
    every = FILE.replace('cron: "30 2 * * *"', "every: 90s, jitter: 5s").replace(
        '["true"]}}', '["true"]}, timeout: 60s}'
    )
    file.write_text(every)
    done("apply", "-f", "jobs.yaml")
    file.write_text(every.replace("90s", "2m").replace("timeout: 60s", "retries: {attempts: 3, delay_ms: 5000}"))

    told = done("diff", "-f", "jobs.yaml").stdout

    assert "    timeout: 1 minute -> none\n" in told
    assert "delay 5 seconds" in told
    assert "every 1 minute 30 seconds" in told
    assert "every 2 minutes" in told
    assert "000" not in told
    shown = done("schedule", "show", "nightly").stdout
    assert "every 1 minute 30 seconds" in shown
    assert "jitter 5 seconds" in shown
    assert "catch-up  last, within 1 day, at most 100\n" in shown


def test_what_the_file_owns_is_changed_there_only(file: Path) -> None:
    done("apply", "-f", "jobs.yaml")

    assert rota("schedule", "edit", "nightly", "--priority", "5").exit_code == 4
    assert rota("schedule", "delete", "nightly").exit_code == 4
    done("schedule", "pause", "nightly")
    assert done("apply", "-f", "jobs.yaml", "--json").json == []
    file.write_text("")
    assert done("apply", "-f", "jobs.yaml").stdout == "- job type report\n- schedule nightly\n"


def test_what_another_file_owns_is_removed_only_when_asked_for(file: Path) -> None:
    file.write_text(f"owner: shop\n{FILE}")
    done("apply", "-f", "jobs.yaml")
    file.write_text("owner: bank\nnode_types: [{name: big}]\n")

    assert done("diff", "-f", "jobs.yaml").stdout == "+ node type big\n"
    assert done("apply", "-f", "jobs.yaml").stdout == "+ node type big\n"
    assert names() == ["nightly"]
    assert done("job-type", "show", "report", "--json").json["managed_by"] == "file:shop"
    pruned = "- job type report\n- schedule nightly\n"
    assert done("diff", "-f", "jobs.yaml", "--prune").stdout == pruned
    assert names() == ["nightly"]
    assert done("apply", "-f", "jobs.yaml", "--prune").stdout == pruned
    assert names() == []


def test_a_single_time_that_is_over_is_refused_as_on_the_command_line(file: Path) -> None:
    file.write_text(FILE.replace('cron: "30 2 * * *"', 'at: "2020-01-01T00:00"'))

    answer = rota("apply", "-f", "jobs.yaml")

    assert answer.exit_code == 2
    assert "schedules[0].at: once at 2020-01-01 00:00:00" in answer.stderr
    assert names() == []


def test_what_looks_like_a_slip_is_said_once_it_is_new(file: Path) -> None:
    file.write_text(FILE.replace('cron: "30 2 * * *"', 'cron: "30 2 * * *", end: "2020-01-01T00:00"'))

    first, again = done("apply", "-f", "jobs.yaml"), done("apply", "-f", "jobs.yaml")

    assert "warning: schedule nightly: its time is over, so it never fires" in first.stderr
    assert "warning" not in again.stderr


def test_an_error_names_the_line(file: Path) -> None:
    file.write_text(FILE.replace("30 2", "30 25"))

    answer = rota("apply", "-f", "jobs.yaml")

    assert answer.exit_code == 2
    assert "jobs.yaml:4: schedules[0].cron: " in answer.stderr


def test_what_a_dialect_reads_of_a_file_is_applied(file: Path) -> None:
    file.write_text("sources: {shop: {executor: bash, metadata: {command: ['true']}, collections: [{name: orders}]}}")

    done("apply", "-f", "jobs.yaml")

    assert "sync:shop/orders" in [one["name"] for one in done("job-type", "list", "--json").json]
    assert done("diff", "-f", "jobs.yaml", "--json").json == []


def test_the_file_of_a_process_that_starts_is_applied(folder: Path) -> None:
    (folder / "rota.yaml").write_text(FILE)

    with RotaProcess(["scheduler"], folder) as process:
        process.until(lambda: (folder / "rota.db").exists() and len(names()) == 1, "the schedule of the file")
        process.stop()

    assert names() == ["nightly"]


def names() -> list[str]:
    answer = rota("schedule", "list", "--json")
    return [one["name"] for one in answer.json] if answer.exit_code == 0 else []
