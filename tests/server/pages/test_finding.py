"""Finding things: what a search of jobs may go on with, and what the command palette offers to whom."""

import re
from html import unescape
from urllib.parse import urlencode

import pytest
from starlette.testclient import TestClient

from rota.engine.access.keys.access import Role
from rota.server.api import Api
from rota.server.pages.finding import palette
from rota.server.pages.finding.matching import best, fits
from rota.server.pages.finding.search import read_search, with_state
from rota.store import Store
from tests.server.pages.visiting import HTML, done, furnish, key_of, signed_in


@pytest.mark.parametrize(
    ("name", "typed", "rank"),
    [
        ("nightly report", "", 0),
        ("nightly report", "Night", 0),
        ("nightly report", "rep", 1),
        ("sync.orders", "ord", 1),
        ("nightly report", "rep night", 1),
        ("nightly report", "ghtly", 2),
        ("nightly report", "weekly", None),
        ("nightly report", "night x", None),
        ("order reorder", "reo", 1),
    ],
)
def test_names_fit_by_their_beginning_by_a_word_or_anywhere(name: str, typed: str, rank: int | None) -> None:
    assert fits(name, typed) == rank


def test_the_likeliest_names_come_first_and_only_so_many() -> None:
    assert best(["a report", "xreport", "report", "other", "reports"], "report", 3) == ["report", "reports", "a report"]


def test_a_search_leaves_out_states() -> None:
    assert read_search("-state:succeeded,cancelled", 1).conditions == {
        "state": ["delayed", "queued", "running", "failed"]
    }
    assert read_search("state:failed,queued -state:queued x", 1).conditions == {"state": ["failed"], "search": "x"}
    assert "leaves out every state" in read_search("state:failed -state:failed", 1).problem
    assert "'fine' is no state" in read_search("-state:fine", 1).problem
    assert with_state("-state:failed type:a", "running") == "state:running type:a"


def suggested(client: TestClient, word: str) -> list[str]:
    answer = client.get(f"/jobs/suggestions?{urlencode({'word': word})}", headers=HTML)
    assert answer.status_code == 200, answer.text
    return [unescape(one) for one in re.findall('data-value="([^"]*)"', answer.text)]


def test_a_word_of_a_search_goes_on_with_conditions_and_their_values(admin: TestClient, api: Api) -> None:
    furnish(admin, api, "big report")
    node = api.engine.definitions.node_type("default").uuid

    assert suggested(admin, "") == ["state:", "type:", "queue:", "schedule:", "node:", "after:", "before:"]
    assert suggested(admin, "st") == ["state:"]
    assert suggested(admin, "fail") == ["state:failed"]
    assert suggested(admin, "state:") == [
        f"state:{one}" for one in ("delayed", "queued", "running", "succeeded", "failed", "cancelled")
    ]
    assert suggested(admin, "-state:s") == ["-state:succeeded"]
    assert suggested(admin, 'type:"rep') == ['type:"big report"', 'type:"big report-shell"']
    assert suggested(admin, "rep") == ['type:"big report"', 'type:"big report-shell"']
    assert suggested(admin, "queue:def") == ["queue:default"]
    assert suggested(admin, "schedule:big") == ['schedule:"big report"']
    assert suggested(admin, f"node:{node[:5]}") == [f"node:{node}"]
    assert suggested(admin, "after:1") == ["after:1h", "after:1d"]
    assert suggested(admin, "colour:red") == suggested(admin, "-queue:def") == []


def test_what_is_suggested_finds_what_it_says(admin: TestClient, api: Api) -> None:
    furnish(admin, api, 'the "best" \\ report')

    (word, *_) = suggested(admin, "type:best")

    assert read_search(word, 1).conditions == {"job_type": 'the "best" \\ report'}


def test_suggestions_are_of_what_the_key_may_see(admin: TestClient, api: Api, kept: Store) -> None:
    furnish(admin, api)
    with signed_in(admin, key_of(kept, Role.VIEWER, "jobs:r")) as browser:
        for word in ("type:", "queue:", "schedule:", "node:"):
            assert suggested(browser, word) == [], word
        assert "state:failed" in suggested(browser, "state:")


def offered(client: TestClient, typed: str) -> dict[str, str]:
    """What each choice does, by name."""
    answer = client.get(f"/palette?{urlencode({'q': typed})}", headers=HTML)
    assert answer.status_code == 200, answer.text
    found = re.findall(
        r'data-(?:href|call|press)="([^"]*)".*?<span class="choice">(.*?)</span>', answer.text, re.DOTALL
    )
    return {unescape(name): unescape(does) for does, name in found}


def test_the_palette_leads_to_screens_things_and_actions(admin: TestClient, api: Api) -> None:
    shown = furnish(admin, api).paths
    schedule, configuration = shown["/schedules/{schedule}"], shown["/configurations/{name}"]

    assert offered(admin, "")["Schedules"] == "/schedules"
    assert offered(admin, "report")["report-shell"] == shown["/job-types/{job_type}"]
    assert {configuration, schedule} <= places(admin, "report"), "of one name there may be several things"
    assert offered(admin, "run report")["Run schedule report now"] == f"POST /api{schedule}/run"
    assert offered(admin, "resume schedule")["Resume schedule report"] == f"POST /api{schedule}/resume"
    assert offered(admin, "pause queue")["Pause queue default"].endswith("/pause")
    assert offered(admin, "enqueue report")["Enqueue report"] == "/enqueue?type=report"
    assert offered(admin, "no such thing") == {"Search jobs for no such thing": "/jobs?q=no%20such%20thing"}
    uuid = shown["/jobs/{uuid}"].rpartition("/")[2]
    assert offered(admin, uuid)[f"Job {uuid}"] == f"/jobs/{uuid}"


def places(client: TestClient, typed: str) -> set[str]:
    """Where choices lead."""
    return set(re.findall('data-href="([^"]*)"', client.get(f"/palette?{urlencode({'q': typed})}", headers=HTML).text))


def test_the_palette_offers_only_what_the_key_may_do(admin: TestClient, api: Api, kept: Store) -> None:
    viewer, narrow = key_of(kept, Role.VIEWER), key_of(kept, Role.VIEWER, "jobs:r", name="narrow")
    furnish(admin, api)
    with signed_in(admin, viewer) as browser:
        for typed in ("", "report", "pause", "run", "enqueue", "new"):
            found = offered(browser, typed)
            assert not [does for does in found.values() if does.startswith(("POST", "/enqueue", "/schedules/new"))]
        assert offered(browser, "report-shell")["report-shell"].startswith("/job-types/")
        assert "Keys" not in offered(browser, "")
    with signed_in(admin, narrow) as browser:
        assert [does for does in offered(browser, "report").values() if not does.startswith("/jobs?q=")] == []


def test_a_schedule_behind_the_first_ones_is_found_by_its_whole_name(
    admin: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(palette, "_SCANNED", 2)
    admin.post("/api/job_types", json={"name": "x", "executor": "log"})
    for name in ("aa", "bb", "zz"):
        done(admin.post("/api/schedules", json={"name": name, "job_type": "x", "cron": "@daily"}))

    assert "zz" in offered(admin, "zz")
    assert "zz" not in offered(admin, "z")
    assert "bb" in offered(admin, "b")
