"""Every screen as it looks: in both themes and at the width of a telephone, for those who cannot see it too, and with
hostile words everywhere. Pictures go to a folder that ROTA_SCREENSHOTS names."""

import re
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.browser.dashboard import Dashboard, look_at, when_live, when_true

PICTURE = "document.querySelector('[data-chart=throughput] canvas').toDataURL()"
HOSTILE = '<img src=x onerror="hacked=1"><script>hacked=1</script>\'"'


def furnish(dashboard: Dashboard, word: str) -> dict[str, str]:
    """One of everything, with this word wherever one may be. Screen to its path."""
    good = dashboard.define(f"report {word}", ["echo", word])
    dashboard.define(f"failing {word}", f"echo {'$0'}; exit 3", retries={"attempts": 2, "delay_ms": 1})
    dashboard.define("backup", "until [ -e stop ]; do sleep 0.05; done")
    job = dashboard.enqueue(f"report {word}")
    failing = dashboard.enqueue(f"failing {word}")
    running = dashboard.enqueue("backup")
    fields = {"job_type": f"report {word}", "cron": "30 2 * * *", "tz": "Europe/Berlin", "job_arguments": {word: word}}
    schedule = dashboard.call("POST", "/api/schedules", {"name": f"nightly {word}", **fields})["uuid"]
    dependencies = [
        {"type": "FILE", "resourceId": word, "lifeDuration": 3600},
        {"any_of": [{"type": "TABLE", "resourceId": word, "lifeDuration": 60}]},
    ]
    made = {"name": f"ready {word}", "job": {"job_type": f"report {word}"}, "dependencies": dependencies}
    configuration = dashboard.call("POST", "/api/configurations", made)["uuid"]
    event = {"eventType": "FILE", "eventResourceId": word, "eventTimestamp": "2026-01-01T00:00:00"}
    dashboard.call("POST", "/events", event)
    return {
        "overview": "/",
        "jobs": "/jobs",
        "job": f"/jobs/{failing}",
        "job-done": f"/jobs/{job}",
        "job-running": f"/jobs/{running}",
        "enqueue": f"/enqueue?job={job}",
        "queues": "/queues",
        "schedules": "/schedules",
        "schedule": f"/schedules/{schedule}",
        "planned": "/schedules/planned",
        "schedule-edit": f"/schedules/{schedule}/edit",
        "events": "/event-log",
        "configurations": "/configurations",
        "configuration": f"/configurations/{configuration}",
        "topics": "/topics",
        "nodes": "/nodes",
        "job-types": "/job-types",
        "job-type": f"/job-types/{good}",
        "job-type-edit": f"/job-types/{good}/edit",
        "audit": "/audit",
        "keys": "/keys",
    }


def test_every_screen_is_drawn_in_both_themes_and_on_a_telephone(
    page: Page, dashboard: Dashboard, pictures: Path
) -> None:
    screens = furnish(dashboard, "orders")
    page.goto(f"{dashboard.address}{screens['job']}")
    expect(page.locator("h1 + .state")).to_have_text("failed")

    for name, path in screens.items():
        look_at(page, f"{dashboard.address}{path}", pictures / f"dashboard-{name}")
    (dashboard.folder / "stop").touch()


def test_charts_are_drawn(page: Page, dashboard: Dashboard) -> None:
    page.goto(dashboard.address)

    expect(page.locator(".chart canvas")).to_have_count(2)


def test_charts_move_without_a_reload(page: Page, dashboard: Dashboard) -> None:
    dashboard.define("report", "true")
    page.goto(dashboard.address)
    when_live(page)
    page.evaluate(f"window.before = {PICTURE}")
    dashboard.enqueue("report")

    when_true(page, f"window.before && {PICTURE} !== window.before")
    expect(page.locator("[data-chart=throughput] canvas")).to_have_count(1)


def test_hostile_words_run_nothing(page: Page, dashboard: Dashboard) -> None:
    screens = furnish(dashboard, HOSTILE)
    page.add_init_script("document.addEventListener('rota:shown', () => { window.hasLiveParts = true; })")
    page.goto(f"{dashboard.address}{screens['job-done']}")
    expect(page.get_by_role("log")).to_contain_text(HOSTILE)

    for name, path in screens.items():
        page.goto(f"{dashboard.address}{path}")
        if page.locator("[data-live]").count():
            when_true(page, "window.hasLiveParts")
        assert page.evaluate("typeof hacked") == "undefined", name
        assert page.locator("main img, main script").count() == 0, name
    (dashboard.folder / "stop").touch()


def test_nothing_is_fetched_from_elsewhere(page: Page, dashboard: Dashboard) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(dashboard.address)
    when_live(page)

    assert asked
    assert [url for url in asked if not re.match(re.escape(dashboard.address), url)] == []
