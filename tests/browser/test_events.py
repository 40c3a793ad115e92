"""Events, as people tell of them and look for what they meant."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.dashboard import Dashboard, look_at, when_live

HOSTILE = "/in/<script>hacked=1</script><img src=x onerror='hacked=1'>"
both_stores = pytest.mark.parametrize("store_url", ["sqlite", "redis"], indirect=True)


def configure(dashboard: Dashboard, name: str, *dependencies: str) -> None:
    dashboard.define(name, "true")
    waits = [{"type": "FILE", "resourceId": one, "lifeDuration": 3600} for one in dependencies]
    dashboard.call("POST", "/api/configurations", {"name": name, "job": {"job_type": name}, "dependencies": waits})


def post(dashboard: Dashboard, resource: str, type: str = "FILE") -> None:
    event = {"eventType": type, "eventResourceId": resource, "eventTimestamp": "2026-01-01T00:00:00"}
    dashboard.call("POST", "/events", event)


@both_stores
def test_an_event_is_posted_by_hand_and_followed_to_what_it_did_and_did_not(page: Page, dashboard: Dashboard) -> None:
    configure(dashboard, "fires", "/in/orders/")
    configure(dashboard, "waits", "/in/orders/", "/in/customers/")
    page.goto(dashboard.address)
    page.get_by_role("link", name="Events", exact=True).click()
    page.wait_for_url("**/event-log")
    expect(page.locator("#part-list")).to_contain_text("rota event post")
    when_live(page)

    page.locator("[name=eventType]").fill("FILE")
    page.locator("[name=eventResourceId]").fill("/in/orders/today.csv")
    page.get_by_role("button", name="Post it").click()
    row = page.locator("#part-list tbody tr")
    expect(row).to_have_count(1)
    expect(row).to_contain_text("/in/orders/today.csv")
    expect(row).to_contain_text("admin")
    expect(row.locator(".state.triggered")).to_have_count(1)
    expect(row.locator(".state.waiting")).to_have_count(1)

    row.get_by_role("link", name="waits").click()
    page.wait_for_url(re.compile("/configurations/"))
    expect(page.locator("#part-why")).to_contain_text("/in/customers/")
    page.go_back()
    page.wait_for_url("**/event-log")
    page.locator("#part-list a[href^='/jobs/']").click()
    page.wait_for_url(re.compile("/jobs/"))
    expect(page.locator("h1")).to_have_text("fires")


@both_stores
def test_events_come_by_themselves_and_are_filtered(page: Page, dashboard: Dashboard) -> None:
    page.goto(f"{dashboard.address}/event-log?type=FILE&resource=/in/orders/")
    when_live(page)
    post(dashboard, "/in/customers/a")
    post(dashboard, "/in/orders/a", "TABLE")
    post(dashboard, "/in/orders/a")

    rows = page.locator("#part-list tbody tr")
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("no configuration waits for it")
    expect(rows).to_contain_text("before it came")
    page.get_by_role("link", name="All events").click()
    page.wait_for_url("**/event-log")
    expect(rows).to_have_count(3)
    page.locator("[name=type]").fill("nonsense")
    page.get_by_role("button", name="Filter").click()
    expect(page.get_by_role("alert").first).to_contain_text("not a known event type")


def test_its_screen_is_for_everybody_and_names_run_nothing(page: Page, dashboard: Dashboard, pictures: Path) -> None:
    configure(dashboard, "fires", "/in/orders/")
    configure(dashboard, "waits", "/in/orders/", "/in/customers/")
    for resource in ("/in/orders/1.csv", "/in/orders/0.csv", HOSTILE):
        post(dashboard, resource)
    look_at(page, f"{dashboard.address}/event-log", pictures / "dashboard-events")
    expect(page.locator("#part-list")).to_contain_text(HOSTILE)
    when_live(page)
    assert page.evaluate("typeof hacked") == "undefined"
    assert page.locator("main img, main script").count() == 0


def test_a_viewer_posts_nothing(page: Page, dashboard: Dashboard) -> None:
    post(dashboard, "/in/orders/a")
    dashboard.sign_in(page, dashboard.make_key("eve", "viewer"), "/event-log")
    expect(page.locator("#part-list")).to_contain_text("/in/orders/a")
    assert page.locator("[data-call]").count() == 0
