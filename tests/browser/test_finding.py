"""Finding things with the keyboard: the search of jobs with its suggestions, and the command palette."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.dashboard import Dashboard, complaints_of, when_live, when_true

both_stores = pytest.mark.parametrize("store_url", ["sqlite", "redis"], indirect=True)


@both_stores
def test_a_search_is_written_from_suggestions_by_the_keyboard(page: Page, dashboard: Dashboard) -> None:
    dashboard.define("nightly report", "exit 3")
    dashboard.define("other", "exit 3")
    jobs = [dashboard.enqueue(name) for name in ("nightly report", "other")]
    for job in jobs:
        page.goto(f"{dashboard.address}/jobs/{job}")
        expect(page.locator("h1 + .state")).to_have_text("failed")

    page.goto(f"{dashboard.address}/jobs")
    page.keyboard.press("/")
    search, choices = page.get_by_role("combobox", name="Search jobs"), page.locator("#suggestions")
    expect(search).to_be_focused()
    expect(choices.get_by_role("option")).to_have_count(7)
    page.keyboard.type("fai")
    expect(choices.get_by_role("option")).to_have_text([re.compile("state:failed")])
    page.keyboard.press("ArrowDown")
    expect(search).to_have_attribute("aria-activedescendant", "suggestion-1")
    page.keyboard.press("Enter")
    expect(search).to_have_value("state:failed ")
    expect(choices).to_be_hidden()
    page.keyboard.type("ty")
    expect(choices.get_by_role("option")).to_have_text([re.compile("type:")])
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(search).to_have_value("state:failed type:")
    page.keyboard.type('"nightly r')
    expect(choices.get_by_role("option")).to_have_text([re.compile("nightly report")])
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    expect(search).to_have_value('state:failed type:"nightly report" ')
    page.keyboard.press("Enter")
    page.wait_for_url("**nightly*")
    expect(page.locator("#part-list tbody tr")).to_have_count(1)
    expect(page.locator("#part-list")).to_contain_text("nightly report")


def test_suggestions_go_away_and_a_search_goes_on_without_them(page: Page, dashboard: Dashboard) -> None:
    page.goto(f"{dashboard.address}/jobs")
    search, choices = page.get_by_role("combobox", name="Search jobs"), page.locator("#suggestions")
    search.click()
    expect(choices).to_be_visible()
    page.keyboard.press("Escape")
    expect(choices).to_be_hidden()
    page.keyboard.type("st")
    expect(choices.get_by_role("option")).to_have_count(1)
    choices.get_by_role("option").click()
    expect(search).to_have_value("state:")
    expect(search).to_be_focused()
    expect(choices.get_by_role("option")).to_have_count(6)
    page.keyboard.press("Tab")
    expect(choices).to_be_hidden()


@both_stores
def test_the_palette_goes_to_things_and_does_what_the_key_may(page: Page, dashboard: Dashboard) -> None:
    dashboard.define("nightly report", "true")
    fields = {"job_type": "nightly report", "cron": "30 2 * * *"}
    dashboard.call("POST", "/api/schedules", {"name": "morning", **fields})

    page.goto(dashboard.address)
    when_live(page)
    page.keyboard.press("Control+k")
    field = page.get_by_role("combobox", name="A screen, a name, or what to do")
    choices = page.locator("#palette-choices").get_by_role("option")
    expect(field).to_be_focused()
    expect(choices.first).to_have_text(re.compile("Overview"))
    page.keyboard.type("nightly rep")
    expect(choices.first).to_have_text(re.compile(r"^nightly report\s+job type"))
    expect(choices.first).to_have_attribute("aria-selected", "true")
    expect(field).to_have_attribute("aria-activedescendant", "command-1")
    page.keyboard.press("Enter")
    page.wait_for_url("**/job-types/*")
    page.keyboard.press("Control+k")
    page.keyboard.type("run morning")
    expect(choices.first).to_have_text(re.compile("Run schedule morning now"))
    page.keyboard.press("Enter")
    expect(page.locator("#confirm-question")).to_have_text("Run schedule morning now?")
    page.get_by_role("button", name="Yes").click()
    page.wait_for_url("**/jobs/*")
    expect(page.locator("h1")).to_have_text("nightly report")


def test_the_palette_opens_by_a_button_and_where_there_is_nothing_to_search(page: Page, dashboard: Dashboard) -> None:
    page.set_viewport_size({"width": 360, "height": 740})
    page.goto(f"{dashboard.address}/queues")
    page.get_by_role("button", name="Find or do").click()
    palette = page.get_by_role("dialog", name="Find or do")
    expect(palette).to_be_visible()
    expect(palette.get_by_role("option").first).to_be_visible()
    when_true(page, "document.documentElement.scrollWidth <= 360")
    assert complaints_of(page) == []
    page.keyboard.press("Escape")
    expect(palette).to_be_hidden()
    page.keyboard.press("/")
    expect(palette).to_be_visible()
    page.keyboard.type("light or")
    expect(palette.get_by_role("option").first).to_have_text(re.compile("Light or dark"))
    page.keyboard.press("Enter")
    expect(palette).to_be_hidden()
    expect(page.locator("html")).to_have_attribute("data-theme", re.compile("light|dark"))


def test_a_viewers_palette_offers_nothing_to_change(page: Page, dashboard: Dashboard) -> None:
    dashboard.define("report", "true")
    key = dashboard.make_key("eve", "viewer")
    dashboard.sign_in(page, key, "/jobs")
    page.keyboard.press("Control+k")
    options = page.locator("#palette-choices").get_by_role("option")
    expect(options.first).to_be_visible()
    page.keyboard.type("report")
    expect(options.first).to_have_text(re.compile(r"^report\s+job type"))
    assert page.locator("#palette-choices [data-call], #palette-choices [data-href^='/enqueue']").count() == 0
