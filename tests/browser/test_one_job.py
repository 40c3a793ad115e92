"""One job: what made it, what it says and how its log is read."""

import pytest
from playwright.sync_api import APIResponse, Page, Route, expect

from tests.browser.dashboard import Dashboard, when_live
from tests.servers import wait_until

UNTIL_GO = "until [ -e go ]; do sleep 0.05; done"
both_stores = pytest.mark.parametrize("store_url", ["sqlite", "redis"], indirect=True)


@both_stores
def test_a_job_tells_the_chain_of_what_made_it(page: Page, dashboard: Dashboard) -> None:
    dashboard.define("extract", "true")
    dashboard.define("report", "true")
    dependencies = [{"type": "JOB", "resourceId": "extract", "lifeDuration": 3600}]
    ready = {"name": "extracted", "job": {"job_type": "report"}, "dependencies": dependencies}
    dashboard.call("POST", "/api/configurations", ready)
    fields = {"job_type": "extract", "cron": "30 2 1 1 *"}
    schedule = dashboard.call("POST", "/api/schedules", {"name": "yearly", **fields})["uuid"]
    first = dashboard.call("POST", f"/api/schedules/{schedule}/run", {})["uuid"]
    found: list[str] = []

    def is_made() -> bool:
        found[:] = [one["uuid"] for one in dashboard.call("GET", "/api/jobs?job_type=report")["jobs"]]
        return bool(found)

    wait_until(is_made, "the second job")
    page.goto(f"{dashboard.address}/jobs/{found[0]}")

    links = page.get_by_role("list", name="What made it").get_by_role("listitem")
    expect(links).to_have_text(
        ["by hand, of schedule yearly", "the end of job extract", "configuration extracted", "this job"]
    )
    expect(links.nth(1).get_by_role("link")).to_have_attribute("href", f"/jobs/{first}")


def test_a_log_is_filtered_by_level_searched_and_downloaded(page: Page, dashboard: Dashboard) -> None:
    dashboard.define("talk", f"echo apples; echo pears; echo 'no plums' >&2; {UNTIL_GO}; echo figs")
    job = dashboard.enqueue("talk")
    page.goto(f"{dashboard.address}/jobs/{job}")
    lines, seen = page.locator("#log > div"), page.locator("#log > div:visible")
    expect(lines).to_have_count(3)
    when_live(page)
    search = page.get_by_role("searchbox", name="Find in the log")
    search.fill("PEAR")
    expect(seen).to_have_count(1)
    (dashboard.folder / "go").touch()
    expect(lines).to_have_count(4)
    expect(seen).to_have_count(1)
    expect(seen).to_contain_text("pears")
    search.fill("")
    expect(seen).to_have_count(4)
    page.get_by_label("Least level shown").select_option("warning")
    expect(seen).to_have_count(1)
    expect(seen).to_contain_text("no plums")

    # A page that changes under the click may swallow it.
    expect(page.locator("h1 + .state")).to_have_text("succeeded")
    with page.expect_download() as download:
        page.get_by_role("link", name="Download").click()
    text = download.value.path().read_text()
    assert [word for word in ("apples", "pears", "no plums", "figs") if word not in text] == []


def test_an_old_answer_does_not_replace_what_is_shown_by_now(page: Page, dashboard: Dashboard) -> None:
    dashboard.define("wait", UNTIL_GO)
    url = f"{dashboard.address}/jobs/{dashboard.enqueue('wait')}"
    state = page.locator("h1 + .state")
    page.goto(url)
    when_live(page)
    expect(state).to_have_text("running")
    held: list[tuple[Route, APIResponse]] = []
    page.route(url, lambda route: held.append((route, route.fetch())))
    page.evaluate("() => { window.asked = Rota.refresh() }")
    while not held:
        page.wait_for_timeout(20)

    (dashboard.folder / "go").touch()
    expect(state).to_have_text("succeeded")
    route, old = held[0]
    route.fulfill(response=old)
    page.evaluate("() => window.asked")

    assert state.inner_text() == "succeeded"


def test_what_a_button_was_when_it_was_pressed_is_done(page: Page, dashboard: Dashboard) -> None:
    """Shown anew while somebody is asked, it may be one for something else."""
    dashboard.define("wait", UNTIL_GO)
    page.goto(f"{dashboard.address}/jobs/{dashboard.enqueue('wait')}")
    expect(page.locator("h1 + .state")).to_have_text("running")
    button = page.get_by_role("button", name="Cancel")

    button.click()
    page.locator("[data-call$='/cancel']").evaluate("(one) => { one.dataset.call = 'POST /api/jobs' }")
    page.get_by_role("button", name="Yes").click()

    expect(page.locator("h1 + .state")).to_have_text("cancelled")
