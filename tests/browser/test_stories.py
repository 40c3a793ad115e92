"""What people do with the dashboard, from the first click to the last."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.dashboard import Dashboard, when_live, when_true
from tests.servers import wait_until

TALKING = "echo one; until [ -e two ]; do sleep 0.05; done; echo two; until [ -e three ]; do sleep 0.05; done"
ONE_SCHEDULE = re.compile(r"/schedules/[0-9a-f-]{36}$")
both_stores = pytest.mark.parametrize("store_url", ["sqlite", "redis"], indirect=True)


@both_stores
def test_enqueue_watch_the_log_grow_and_cancel(page: Page, dashboard: Dashboard) -> None:
    dashboard.define("talk", TALKING)

    page.goto(dashboard.address)  # needs no key: it is a browser of the same user, and nobody has made a key
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    page.get_by_role("link", name="Jobs", exact=True).click()
    page.get_by_role("link", name="Enqueue").click()
    page.wait_for_url("**/enqueue")
    page.locator("[name=job_type]").select_option("talk")
    page.get_by_role("button", name="Enqueue").click()

    log = page.get_by_role("log")
    expect(log).to_contain_text("one")
    expect(page.locator("h1 + .state")).to_have_text("running")
    when_live(page)
    (dashboard.folder / "two").touch()
    expect(log).to_contain_text("two")

    page.get_by_role("button", name="Cancel").click()
    page.get_by_role("button", name="Yes").click()
    expect(page.locator("h1 + .state")).to_have_text("cancelled")
    expect(page.get_by_role("button", name="Retry")).to_be_visible()
    expect(page.locator("#log > div"), "no line is there twice").to_have_count(2)


def test_a_viewer_signs_in_sees_everything_and_changes_nothing(page: Page, dashboard: Dashboard) -> None:
    dashboard.define("report", "exit 3")
    job = dashboard.enqueue("report")
    key = dashboard.make_key("eve", "viewer")

    page.goto(f"{dashboard.address}/jobs/{job}")
    expect(page).to_have_url(re.compile("/sign-in"))
    page.get_by_label("Key").fill("wrong")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_contain_text("not known here")
    page.get_by_label("Key").fill(key)
    page.get_by_role("button", name="Sign in").click()

    expect(page.get_by_text("exit code 3").first).to_be_visible()
    assert page.locator("[data-call], [data-bulk], a[href^='/enqueue']").count() == 0
    status = page.evaluate(
        "path => fetch(path, {method: 'POST', headers: {'Content-Type': 'application/json'}, body: '{}'})"
        ".then(answer => answer.status)",
        f"/api/jobs/{job}/retry",
    )
    assert status == 403
    page.get_by_role("button", name="Sign out").click()
    page.goto(f"{dashboard.address}/jobs")
    expect(page).to_have_url(re.compile("/sign-in"))


def test_failed_jobs_are_found_and_retried_together(page: Page, dashboard: Dashboard) -> None:
    dashboard.define("flaky", "if [ -e mended ]; then echo fine; else exit 3; fi")
    dashboard.define("other", "exit 4")
    for name in ("flaky", "flaky", "flaky", "other"):
        dashboard.enqueue(name)

    page.goto(f"{dashboard.address}/jobs?q=state:failed")
    when_live(page)
    expect(page.locator("#part-list tbody tr")).to_have_count(4)
    page.locator("[name=q]").fill("state:failed type:flaky")
    page.get_by_role("button", name="Search").click()
    page.wait_for_url("**type%3Aflaky*")
    expect(page.locator("#part-list tbody tr")).to_have_count(3)
    (dashboard.folder / "mended").touch()
    page.get_by_role("button", name="Retry").click()
    expect(page.locator("#confirm-question")).to_have_text("Retry 3 jobs, all that match?")
    page.get_by_role("button", name="Yes").click()

    expect(page.get_by_text("No job matches this search.")).to_be_visible()
    page.goto(f"{dashboard.address}/jobs?q=state:failed")
    page.get_by_label("Choose this job").check()
    expect(page.get_by_text("1 chosen")).to_be_visible()
    page.get_by_role("button", name="Delete").click()
    expect(page.locator("#confirm-question")).to_have_text("Delete 1 job?")
    page.get_by_role("button", name="Yes").click()
    expect(page.get_by_text("No job matches this search.")).to_be_visible()


def test_a_job_that_was_chosen_stays_chosen_when_its_row_goes(page: Page, dashboard: Dashboard) -> None:
    for name in ("alpha", "gamma"):
        dashboard.define(name, f"until [ -e {name} ]; do sleep 0.05; done")
        dashboard.enqueue(name)

    page.goto(f"{dashboard.address}/jobs?q=state:running")
    rows = page.locator("#part-list tbody tr")
    expect(rows).to_have_count(2)
    rows.filter(has_text="alpha").get_by_label("Choose this job").check()
    (dashboard.folder / "alpha").touch()
    expect(rows).to_have_count(1)
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator("#confirm-question")).to_have_text("Cancel 1 job?")
    (dashboard.folder / "gamma").touch()


def test_a_log_stands_still_for_one_who_scrolls_up_by_the_keyboard(page: Page, dashboard: Dashboard) -> None:
    dashboard.define("talk", "seq 300")
    page.goto(f"{dashboard.address}/jobs/{dashboard.enqueue('talk')}")
    log = page.get_by_role("log")
    expect(log.locator("> div")).to_have_count(300)
    expect(page.get_by_role("button", name="Follow", pressed=True)).to_be_visible()
    when_true(page, "document.querySelector('#log').scrollTop > 100")

    def is_left() -> bool:
        log.press("Home")  # again, as people do: a browser that is held up hears a key and may not scroll for it
        return page.get_by_role("button", name="Follow", pressed=False).is_visible()

    wait_until(is_left, "the log to be left")


def test_a_line_that_comes_while_somebody_scrolls_up_does_not_take_them_back(page: Page, dashboard: Dashboard) -> None:
    dashboard.define("talk", "seq 300")
    page.goto(f"{dashboard.address}/jobs/{dashboard.enqueue('talk')}")
    expect(page.get_by_role("log").locator("> div")).to_have_count(300)
    when_true(page, "document.querySelector('#log').scrollTop > 100")
    # Before the browser says that they have scrolled.
    page.evaluate("""() => {
        const log = document.querySelector("#log");
        log.scrollTop = 10;
        document.dispatchEvent(new CustomEvent("rota:log", {detail: {html: "<div>one more</div>", next: 301}}));
    }""")

    expect(page.get_by_role("button", name="Follow", pressed=False)).to_be_visible()
    assert page.evaluate("document.querySelector('#log').scrollTop") == 10


def test_a_schedule_is_made_with_a_preview_changed_paused_and_run(page: Page, dashboard: Dashboard) -> None:
    dashboard.define("report", "true")

    page.goto(f"{dashboard.address}/schedules/new")
    page.locator("[name=name]").fill("nightly")
    page.locator("[name=job_type]").select_option("report")
    page.locator("[name=tz]").fill("Europe/Berlin")
    page.locator("[name=cron]").press_sequentially("30 2 * * *")
    expect(page.locator("#preview")).to_contain_text("at 2:30 every day (Europe/Berlin)")
    expect(page.locator("#preview tbody tr")).to_have_count(5)
    expect(page.locator("#preview time").first).to_have_text(re.compile("E[SD]T"))
    page.locator("[name=cron]").fill("61 2 * * *")
    expect(page.locator("#preview")).to_contain_text("61")
    page.locator("[name=cron]").fill("30 3 * * *")
    page.get_by_role("button", name="Create it").click()

    page.wait_for_url(ONE_SCHEDULE)
    expect(page.get_by_role("heading", name="nightly")).to_be_visible()
    expect(page.locator("#part-head")).to_contain_text("at 3:30 every day (Europe/Berlin)")
    page.get_by_role("link", name="Edit").click()
    page.wait_for_url("**/edit")
    page.locator("[name=cron]").fill("")
    page.locator("[name=interval]").fill("1h")
    page.locator("[name=job_arguments]").fill('{"number": 12345678901234567890}')
    page.get_by_role("button", name="Change it").click()
    page.wait_for_url(ONE_SCHEDULE)
    expect(page.locator("#part-head")).to_contain_text("every hour")
    expect(page.locator("pre.json")).to_contain_text("12345678901234567890")
    page.get_by_role("button", name="Pause").click()
    expect(page.locator("#part-head")).to_contain_text("paused")
    page.get_by_role("button", name="Resume").click()
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    page.get_by_role("button", name="Run now").click()
    expect(page).to_have_url(re.compile("/jobs/"))
    expect(page.locator("h1")).to_have_text("report")


def test_events_are_posted_and_the_page_says_why_it_did_not_fire(page: Page, dashboard: Dashboard) -> None:
    dashboard.define("report", "true")
    dependencies = [
        {"type": "FILE", "resourceId": "/in/orders/", "lifeDuration": 3600},
        {"type": "TABLE", "resourceId": "customers", "lifeDuration": 3600},
    ]
    dashboard.call(
        "POST", "/api/configurations", {"name": "ready", "job": {"job_type": "report"}, "dependencies": dependencies}
    )

    page.goto(f"{dashboard.address}/configurations")
    page.locator("[name=eventType]").fill("FILE")
    page.locator("[name=eventResourceId]").fill("/in/orders/today.csv")
    page.get_by_role("button", name="Post it").click()
    expect(page.locator("#part-list")).to_contain_text("TABLE customers has not come yet")
    page.get_by_role("link", name="ready").click()
    page.wait_for_url(re.compile("/configurations/.+"))
    expect(page.locator("#part-why")).to_contain_text("did not fire")
    expect(page.locator("#part-life")).to_contain_text("has not come")
    page.get_by_role("button", name="Try it").click()
    expect(page.locator("#what-if")).to_contain_text("a job would be made")
    assert dashboard.call("GET", "/api/jobs")["jobs"] == [], "a question makes nothing"


def test_a_queue_is_paused_and_says_so_everywhere(page: Page, dashboard: Dashboard) -> None:
    page.goto(f"{dashboard.address}/queues")
    page.get_by_role("button", name="Pause").click()
    expect(page.locator("#part-list")).to_contain_text("paused")
    dashboard.define("report", "true")
    job = dashboard.enqueue("report")
    page.goto(f"{dashboard.address}/jobs/{job}")
    expect(page.locator("#part-why")).to_contain_text("paused")
    page.goto(dashboard.address)
    expect(page.locator("#part-health")).to_contain_text("paused: default")


def test_the_keyboard_is_enough(page: Page, dashboard: Dashboard) -> None:
    dashboard.define("first", "true")
    dashboard.define("second", "true")

    page.goto(dashboard.address)
    page.keyboard.press("g")
    page.keyboard.press("t")
    page.wait_for_url("**/job-types")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    page.keyboard.press("Enter")
    page.wait_for_url("**/job-types/*")
    expect(page.get_by_role("heading", name="first")).to_be_visible()
    page.keyboard.press("g")
    page.keyboard.press("j")
    page.wait_for_url("**/jobs")
    page.keyboard.press("/")
    expect(page.locator("[name=q]")).to_be_focused()
    page.keyboard.press("Escape")
    page.locator("h1").click()
    page.keyboard.press("?")
    expect(page.get_by_role("heading", name="Shortcuts")).to_be_visible()


HIDE = """isHidden => {
  Object.defineProperty(document, "hidden", {value: isHidden, configurable: true});
  document.dispatchEvent(new Event("visibilitychange"));
}"""


STREAMS = """window.streams = [];
window.EventSource = class extends EventSource {
  constructor(address) { super(address); window.streams.push(this); }
};"""
OPEN = "window.streams.map(one => one.readyState !== EventSource.CLOSED)"


def test_a_hidden_tab_has_no_stream_and_a_shown_one_catches_up(page: Page, dashboard: Dashboard) -> None:
    dashboard.define("report", "true")
    page.add_init_script(STREAMS)
    page.goto(f"{dashboard.address}/jobs")
    when_live(page)
    page.evaluate(HIDE, True)
    expect(page.locator("body[data-stream]")).to_have_count(0)
    assert not any(page.evaluate(OPEN)), "it costs nothing"
    dashboard.enqueue("report")
    page.evaluate(HIDE, False)
    expect(page.locator("#part-list")).to_contain_text("report")
    assert any(page.evaluate(OPEN))

    page.get_by_role("button", name="Live").click()
    expect(page.locator("body[data-stream]")).to_have_count(0)
    expect(page.get_by_role("button", name="Live", pressed=False)).to_be_visible()
    page.get_by_role("button", name="Live").click()
    when_live(page)


def test_a_page_that_cannot_be_made_any_more_says_so(page: Page, dashboard: Dashboard) -> None:
    dashboard.define("report", "true")
    job = dashboard.enqueue("report")
    page.goto(f"{dashboard.address}/jobs/{job}")
    expect(page.locator("h1 + .state")).to_have_text("succeeded")
    when_live(page)
    expect(page.locator("#trouble")).to_be_hidden()
    dashboard.call("DELETE", f"/api/jobs/{job}")
    expect(page.locator("#trouble")).to_contain_text(f"Not up to date: no job '{job}'")


def test_the_first_key_of_a_person_is_shown_once_and_then_needed(page: Page, dashboard: Dashboard) -> None:
    page.goto(f"{dashboard.address}/keys")
    when_live(page)
    page.locator("[name=name]").fill("ada")
    page.locator("[name=role]").select_option("operator")
    page.get_by_role("button", name="Make it").click()
    revealed = page.locator("[data-revealed]")
    expect(revealed).to_have_text(re.compile("^rota_"))
    key = revealed.inner_text()
    expect(page.locator("body[data-stream]")).to_have_count(0)
    assert revealed.inner_text() == key, "it is still there to be copied"

    dashboard.sign_in(page, key, "/jobs")
    expect(page.get_by_role("heading", name="Jobs")).to_be_visible()
    assert page.get_by_role("link", name="Keys").count() == 0, "an operator makes no keys"
