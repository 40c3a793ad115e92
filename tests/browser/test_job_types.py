"""Job types, as people define them in a browser."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.dashboard import Dashboard

ONE = re.compile(r"/job-types/[0-9a-f-]{36}$")
both_stores = pytest.mark.parametrize("store_url", ["sqlite", "redis"], indirect=True)


@both_stores
def test_a_job_type_is_made_changed_run_and_removed(page: Page, dashboard: Dashboard) -> None:
    page.goto(f"{dashboard.address}/job-types")
    page.get_by_role("link", name="New job type").click()
    page.wait_for_url("**/job-types/new")
    page.locator("[name=name]").fill("report")
    page.locator("[name=metadata]").fill('{"command": ["echo", "number 12345678901234567890"]}')
    page.locator("[name=timeout]").fill("90s")
    page.locator("[name='retries.attempts']").fill("3")
    page.locator("[name=rate]").fill("100/m")
    page.get_by_role("button", name="Create it").click()

    page.wait_for_url(ONE)
    made = dashboard.call("GET", "/api/job_types/report")
    assert (made["timeout"], made["retries"]["attempts"], made["rate"]) == (90_000, 3, "100/m")
    assert made["metadata"] == {"command": ["echo", "number 12345678901234567890"]}

    page.get_by_role("link", name="Edit").click()
    page.wait_for_url("**/edit")
    page.locator("[name=timeout]").fill("")
    page.locator("[name=unique]").select_option("while_running")
    page.get_by_role("button", name="Change it").click()
    page.wait_for_url(ONE)
    changed = dashboard.call("GET", "/api/job_types/report")
    assert (changed["timeout"], changed["unique"]) == (None, True)
    assert changed["retries"] == made["retries"], "what nobody touched stays"
    assert changed["version"] == made["version"] + 1

    page.get_by_role("link", name="Enqueue").click()
    page.get_by_role("button", name="Enqueue").click()
    expect(page.get_by_role("log")).to_contain_text("number 12345678901234567890")
    page.goto(f"{dashboard.address}/job-types/{made['uuid']}")
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("button", name="Yes").click()
    page.wait_for_url("**/job-types")
    expect(page.locator("main")).to_contain_text("rota job-type create")


def test_what_is_wrong_is_told_at_its_field(page: Page, dashboard: Dashboard) -> None:
    page.goto(f"{dashboard.address}/job-types/new")
    page.locator("[name=name]").fill("report")
    wrong = [
        ("metadata", '{"comand": "true"}', '{"command": "true"}', "comand"),
        ("timeout", "soon", "1h", "timeout"),
        ("retries.attempts", "0", "2", "attempts"),
        ("rate", "many", "10/m", "rate"),
        ("executor", "bahs", "bash", "bash"),
        ("metadata", "{", '{"command": "true"}', "JSON"),
    ]
    for name, bad, good, word in wrong:
        field = page.locator(f"[name='{name}']")
        field.fill(bad)
        page.get_by_role("button", name="Create it").click()
        told = page.locator("label", has=field).get_by_role("alert")
        expect(told).to_contain_text(word)
        expect(field).to_have_attribute("aria-invalid", "true")
        expect(field).to_be_focused()
        expect(page.get_by_role("alert").filter(has_text=re.compile("."))).to_have_count(1)
        field.fill(good)
    page.get_by_role("button", name="Create it").click()
    page.wait_for_url(ONE)


def test_of_two_who_change_one_the_second_is_told(page: Page, dashboard: Dashboard) -> None:
    uuid = dashboard.define("report", "true")
    page.goto(f"{dashboard.address}/job-types/{uuid}/edit")
    dashboard.call("PATCH", f"/api/job_types/{uuid}", {"timeout": 5_000})
    page.locator("[name='retries.attempts']").fill("2")
    page.get_by_role("button", name="Change it").click()

    expect(page.locator("p.problem")).to_contain_text("version")
    assert dashboard.call("GET", "/api/job_types/report")["retries"]["attempts"] == 1


def test_an_operator_defines_nothing(page: Page, dashboard: Dashboard) -> None:
    uuid = dashboard.define("report", "true")
    dashboard.sign_in(page, dashboard.make_key("ada", "operator"), f"/job-types/{uuid}")
    expect(page.get_by_role("heading", name="report")).to_be_visible()
    assert page.locator("[data-call^='DELETE /api/job_types'], a[href$='/edit']").count() == 0
    assert page.goto(f"{dashboard.address}/job-types/new").status == 403  # type: ignore[union-attr]
    assert page.goto(f"{dashboard.address}/job-types/{uuid}/edit").status == 403  # type: ignore[union-attr]
