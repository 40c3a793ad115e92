"""`rota why`, and the sentences that other verbs show."""

from pathlib import Path

import pytest

from tests.cli.calling import call_process, done, rota

pytestmark = pytest.mark.usefixtures("place")


@pytest.fixture(autouse=True)
def installation(opened: object) -> None:
    """A store without nodes, and a job type."""
    done("node-type", "create", "default")
    done("job-type", "create", "report", "--", "true")


def configure(name: str) -> None:
    dependency = "{type: FILE, resourceId: /in, lifeDuration: 60}"
    Path("events.yaml").write_text(f"configurations: [{{name: {name}, dependencies: [{dependency}]}}]")
    done("configuration", "create", "-f", "events.yaml")


def test_a_job_is_asked_about_by_a_part_of_its_id() -> None:
    job = done("enqueue", "report").stdout.strip()

    answer = done("why", job[-12:])

    assert answer.stdout == (
        "No live node runs jobs of the node type 'default'; start one with `rota worker --node-type default`, or "
        "`rota up`.\n"
    )


def test_the_document_has_code_sentence_facts_and_what_else_holds() -> None:
    job = done("enqueue", "report").stdout.strip()
    done("queues", "pause", "default")

    document = done("why", job, "--json").json

    assert (document["code"], document["node_type"]) == ("paused", "default")
    assert [one["code"] for one in document["also"]] == ["no_live_node"]
    assert set(document) == {"code", "sentence", "node_type", "also"}


def test_a_schedule_and_a_configuration_are_asked_about_by_name() -> None:
    done("schedule", "create", "nightly", "--type", "report", "--cron", "30 2 * * *")
    configure("arrival")

    assert done("why", "nightly", "--json").json["code"] == "no_live_node"
    assert done("why", "default").stdout.startswith("No live node runs jobs of the node type 'default'; start one ")
    assert done("why", "arrival").stdout.startswith("FILE /in has not come yet.\n")


def test_a_name_of_two_things_needs_their_kind() -> None:
    done("schedule", "create", "both", "--type", "report", "--cron", "30 2 * * *")
    configure("both")

    refused = rota("why", "both")

    assert refused.exit_code == 2
    assert "--kind" in refused.stderr
    assert done("why", "both", "--kind", "configuration", "--json").json["code"] == "dependency_missing"


def test_what_is_not_there_is_not_found_and_a_job_type_is_told_apart() -> None:
    unknown, job_type = rota("why", "nothing"), rota("why", "report")

    assert unknown.exit_code == 3
    assert "no job, schedule, configuration or queue 'nothing'" in unknown.stderr
    assert job_type.exit_code == 2
    assert "`rota jobs --type report`" in job_type.stderr


def test_a_job_is_shown_with_its_sentence() -> None:
    job = done("enqueue", "report", "--delay", "1h").stdout.strip()

    assert "\nwhy        It waits until " in done("job", job).stdout


def test_whoever_waits_is_told_after_two_seconds_why_nothing_happens(folder: Path) -> None:
    ended = call_process(
        "enqueue", "report", "--wait", "--timeout-wait", "4s", "--store", f"sqlite:///{folder}/rota.db"
    )

    assert ended.exit_code == 124
    assert ended.stderr.count("No live node runs jobs of the node type 'default'") == 1


def test_whoever_waits_for_less_than_that_is_told_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rota.cli.jobs.why.TELL_AFTER_S", 3_600.0)

    ended = rota("enqueue", "report", "--wait", "--timeout-wait", "1s")

    assert ended.exit_code == 124
    assert "No live node" not in ended.stderr
