"""Many jobs at once: never more than somebody said yes to, whatever happens while the question is on the screen."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.dashboard import Dashboard, when_live
from tests.servers import wait_until

both_stores = pytest.mark.parametrize("store_url", ["sqlite", "redis"], indirect=True)


def failed_jobs(dashboard: Dashboard) -> int:
    return len(dashboard.call("GET", "/api/jobs?state=failed&limit=1000")["jobs"])


@both_stores
def test_all_that_match_are_more_than_a_page_and_no_more_than_was_asked_for(page: Page, dashboard: Dashboard) -> None:
    dashboard.define("flaky", "[ -e mended ]")
    for _ in range(60):
        dashboard.enqueue("flaky")
    wait_until(lambda: failed_jobs(dashboard) == 60, "60 failures")

    page.goto(f"{dashboard.address}/jobs?q=state:failed")
    when_live(page)
    expect(page.locator("#part-list tbody tr")).to_have_count(50)
    page.get_by_role("button", name="Retry").click()
    expect(page.locator("#confirm-question")).to_have_text("Retry 60 jobs, all that match?")
    dashboard.enqueue("flaky")
    wait_until(lambda: failed_jobs(dashboard) == 61, "one more failure")
    (dashboard.folder / "mended").touch()
    page.get_by_role("button", name="Yes").click()

    expect(page.get_by_text("Done to 60 jobs.")).to_be_visible()
    expect(page.locator("#part-list tbody tr")).to_have_count(1)


@both_stores
def test_jobs_that_ended_while_somebody_was_asked_are_told_apart(page: Page, dashboard: Dashboard) -> None:
    dashboard.define("report", "true")
    jobs = [dashboard.enqueue("report", delay="1h") for _ in range(3)]

    page.goto(f"{dashboard.address}/jobs?q=state:delayed")
    when_live(page)
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator("#confirm-question")).to_have_text("Cancel 3 jobs, all that match?")
    dashboard.call("POST", f"/api/jobs/{jobs[0]}/cancel", {})
    page.get_by_role("button", name="Yes").click()

    expect(page.get_by_text("Done to 2 of 3 jobs: the others changed meanwhile.")).to_be_visible()
    expect(page.get_by_text("No job matches this search.")).to_be_visible()
