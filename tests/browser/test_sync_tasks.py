"""Sources and collections, as people keep them up to date in a browser."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.dashboard import Dashboard, look_at, when_live

HOSTILE = "<img src=x onerror='hacked=1'>"
both_stores = pytest.mark.parametrize("store_url", ["sqlite", "redis"], indirect=True)


@pytest.fixture
def definitions() -> str:
    return f"""
sources:
  shop:
    executor: bash
    metadata: {{command: "echo began; until [ -e go ]; do sleep 0.05; done; echo ended"}}
    collections: [{{name: orders, schedule: "0 0 1 1 *"}}, {{name: customers}}]
  "{HOSTILE}":
    executor: log
    collections: [{{name: "{HOSTILE}"}}]
"""


@both_stores
def test_a_collection_is_run_watched_and_cancelled(page: Page, dashboard: Dashboard) -> None:
    page.goto(dashboard.address)
    page.get_by_role("link", name="Sync tasks").click()
    page.wait_for_url("**/sync")
    row = page.locator("#part-list tr", has_text="orders")
    expect(row).to_contain_text("never run")
    expect(row).to_contain_text("at 0:00 on day 1 of January")
    row.get_by_role("link", name="orders").click()
    page.wait_for_url("**/sync/shop/orders")
    when_live(page)

    page.get_by_role("button", name="Run now").click()
    expect(page.locator("#part-head .state")).to_have_text("RUNNING")
    expect(page.get_by_role("log")).to_contain_text("began")
    with page.expect_response(lambda answer: answer.request.method == "POST"):  # while one runs, that is the one
        page.get_by_role("button", name="Run now").click()
    (dashboard.folder / "go").touch()
    expect(page.get_by_role("log")).to_contain_text("ended")
    expect(page.locator("#part-head .state")).to_have_text("SUCCESS")
    expect(page.locator("#part-tasks tbody tr")).to_have_count(1)

    (dashboard.folder / "go").unlink()
    page.get_by_role("button", name="Run now").click()
    expect(page.locator("#part-head .state")).to_have_text("RUNNING")
    page.get_by_role("button", name="Cancel").click()
    page.get_by_role("button", name="Yes").click()
    expect(page.locator("#part-head .state")).to_have_text("CANCELED")
    expect(page.locator("#part-facts .strip i")).to_have_count(2)
    page.locator("#part-tasks").get_by_role("link").first.click()
    page.wait_for_url(re.compile("/jobs/[0-9a-f-]{36}$"))


def test_its_screens_are_for_everybody_and_their_names_run_nothing(
    page: Page, dashboard: Dashboard, pictures: Path
) -> None:
    (dashboard.folder / "go").touch()
    page.goto(f"{dashboard.address}/sync")
    expect(page.get_by_role("button", name="Run orders of shop now")).to_be_visible()
    for _ in range(2):
        page.get_by_role("button", name="Run orders of shop now").click()
        expect(page.locator("#part-list tr", has_text="orders")).to_contain_text("SUCCESS")
    paths = {"sync": "/sync", "sync-collection": "/sync/shop/orders"}
    for name, path in paths.items():
        look_at(page, f"{dashboard.address}{path}", pictures / f"dashboard-{name}")
    page.goto(f"{dashboard.address}/sync")
    page.get_by_role("link", name=HOSTILE).click()
    expect(page.get_by_role("heading", name=HOSTILE)).to_be_visible()
    assert page.evaluate("typeof hacked") == "undefined"


def test_a_viewer_presses_nothing(page: Page, dashboard: Dashboard) -> None:
    dashboard.sign_in(page, dashboard.make_key("eve", "viewer"), "/sync/shop/orders")
    expect(page.get_by_role("heading", name="orders")).to_be_visible()
    assert page.locator("[data-call]").count() == 0
    status = page.evaluate(
        "path => fetch(path, {method: 'POST'}).then(answer => answer.status)",
        "/tasks?source=shop&collection=orders",
    )
    assert status == 403
