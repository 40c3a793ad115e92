"""The pictures of the README: an installation that has worked for days, with a bad import and a report that is running.

They are kept, small enough for a document, if ROTA_SCREENSHOTS names a folder."""

import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from rota.clock import SystemClock, as_datetime
from rota.model.ids import new_id
from rota.model.job import JobSpec
from rota.model.job_type import JobType
from rota.model.runs.outcome import failed, succeeded
from rota.model.runs.retry import RetryPolicy
from rota.model.runs.settlement import settle
from rota.model.schedules.request import ScheduleRequest
from rota.testing.installation import Installation
from tests.browser.dashboard import Dashboard, picture_of, when_live, when_true
from tests.browser.small_png import small_png
from tests.cli.calling import RotaProcess
from tests.servers import wait_until

DAY_S = 86_400
MINUTES = 58
"""Of the last hour, in which jobs ended."""
ONCE = RetryPolicy(attempts=1)
IMPORT = r"""
echo "reading /in/customers-2026-11.csv"
echo "  18,204 rows, 12 columns"
printf '\033[33mrow 311: no e-mail address, kept\033[0m\n'
sleep 0.4
printf '\033[31mrow 9,182: "2026-13-02" is no date\033[0m\n' >&2
exit 3
"""
REPORT = r"""
echo "connecting to warehouse"
if [ ! -e tried ]; then touch tried; sleep 0.6; echo "connection reset by peer" >&2; exit 1; fi
printf '\033[32mconnected\033[0m in 41 ms\n'
for part in orders refunds shipments customers; do sleep 0.3; echo "aggregating $part ..."; done
printf 'writing \033[1mreport-2026-11.xlsx\033[0m\n'
until [ -e stop ]; do sleep 0.05; done
"""
TYPES = {"sync-orders": (40, 700), "thumbnails": (20, 90), "send-invoices": (120, 2_500)}
"""Name to how long its jobs wait and run, in milliseconds, more or less."""
TROUBLES = {
    "sync-orders": "HTTP 503 from shop.example",
    "thumbnails": "a picture of 0 bytes",
    "send-invoices": "mailbox full: ada@example.org",
}
SCHEDULES = {
    "nightly-report": ("nightly-report", "30 2 * * *"),
    "orders-hourly": ("sync-orders", "5 * * * *"),
    "invoices": ("send-invoices", "0 8,16 * * MON-FRI"),
    "clean-up": ("clean-up", "15 */6 * * *"),
}


def work_for_days(url: str) -> None:
    """Schedules fire and jobs end, as nodes would have had it, until a minute ago."""
    now = SystemClock().now()
    with Installation(url, now=now - (3 * DAY_S + 3_600) * 1_000) as installation:
        engine = installation.engine
        for name in (*TYPES, "nightly-report", "clean-up"):
            engine.definitions.define_job_type(JobType(uuid=new_id(1), name=name, executor="log"))
        for name, (job_type, cron) in SCHEDULES.items():
            engine.schedules.create(ScheduleRequest(name=name, job_type=job_type, cron=cron, tz="Europe/Berlin"))
        installation.advance(3 * DAY_S)
        _work_for_an_hour(installation, now - MINUTES * 60_000, now - 60_000)


def _work_for_an_hour(installation: Installation, since: int, until: int) -> None:
    chance = random.Random(7)
    queue = installation.engine.definitions.node_type("default").uuid
    types = {name: installation.engine.definitions.job_type(name).uuid for name in TYPES}
    at = since
    while at < until:
        busy = 1 + 2 * (since + 1_500_000 < at < since + 2_500_000)  # a crowd in the middle
        at += int(chance.expovariate(busy / 9_000)) + 50
        name = chance.choice(list(TYPES))
        wait_ms, run_ms = (int(one * chance.lognormvariate(0, 0.6)) for one in TYPES[name])
        installation.store.enqueue_jobs(
            [JobSpec(id=new_id(at), job_type=types[name], queue=queue, enqueued_at=at)], now=at
        )
        began, ended = at + wait_ms, at + wait_ms + run_ms
        (claim,) = installation.store.claim_jobs(queue, token="past/1", limit=1, now=began).claims
        outcome = failed(TROUBLES[name]) if chance.random() < 0.03 else succeeded()
        settled = settle(claim, outcome, policy=ONCE, started_at=began, now=ended, chance=0)
        installation.store.finish_jobs(queue, [settled], now=ended)


@pytest.fixture
def dashboard(tmp_path: Path) -> Iterator[Dashboard]:
    url = f"sqlite:///{tmp_path / 'rota.db'}"
    work_for_days(url)
    words = ["up", "--no-demo", "--port", "0", "--json", "--store", url]
    with RotaProcess(words, tmp_path) as process:
        banner = process.banner()
        yield Dashboard(banner["address"], banner["api_key"], tmp_path, url)
        assert process.stop() == 0


def test_the_pictures_of_the_readme(page: Page, dashboard: Dashboard, pictures: Path) -> None:
    dashboard.define("import-customers", IMPORT, retries={"attempts": 2, "delay_ms": 300})
    dashboard.define("monthly-report", REPORT, retries={"attempts": 3, "delay_ms": 400})
    imported = dashboard.enqueue("import-customers", arguments={"file": "/in/customers-2026-11.csv"})
    report = _run_by_hand(dashboard, "monthly-report", {"month": "2026-11", "format": "xlsx"})
    for _ in range(12):
        dashboard.enqueue("sync-orders")
    configuration = _await_files(dashboard)
    wait_until(lambda: _state(dashboard, imported) == "failed", "the import")

    page.emulate_media(color_scheme="dark", reduced_motion="reduce")
    page.goto(f"{dashboard.address}/jobs/{report}")
    expect(page.get_by_role("log")).to_contain_text("writing report-2026-11.xlsx")
    expect(page.locator("h1 + .state")).to_have_text("running")
    take(page, pictures / "readme-job.png")
    page.emulate_media(color_scheme="light", reduced_motion="reduce")
    for name, path in (("overview", "/"), ("configuration", f"/configurations/{configuration}")):
        page.goto(f"{dashboard.address}{path}")
        when_live(page)
        take(page, pictures / f"readme-{name}.png")
    (dashboard.folder / "stop").touch()


def _run_by_hand(dashboard: Dashboard, name: str, arguments: dict[str, str]) -> str:
    """A job of a schedule, before its time."""
    schedule = {"name": name, "job_type": name, "cron": "0 6 1 * *", "tz": "Europe/Berlin", "job_arguments": arguments}
    uuid = dashboard.call("POST", "/api/schedules", schedule)["uuid"]
    return str(dashboard.call("POST", f"/api/schedules/{uuid}/run", {})["uuid"])


def _state(dashboard: Dashboard, job: str) -> str:
    return str(dashboard.call("GET", f"/api/jobs/{job}")["state"])


def _await_files(dashboard: Dashboard) -> str:
    """A configuration that has nearly all that it waits for."""
    dependencies = [
        {"type": "FILE", "resourceId": "/in/orders/", "lifeDuration": 3_600},
        {"type": "TABLE", "resourceId": "shop.customers", "lifeDuration": 600},
        {
            "any_of": [
                {"type": "FILE", "resourceId": "/in/rates.csv", "lifeDuration": DAY_S},
                {"type": "TIME_BASED", "resourceId": "nightly", "lifeDuration": 0},
            ]
        },
    ]
    made = {"name": "invoices-ready", "job": {"job_type": "send-invoices"}, "dependencies": dependencies}
    uuid = str(dashboard.call("POST", "/api/configurations", made)["uuid"])
    for kind, resource in (("FILE", "/in/orders/2026-11-16.csv"), ("TABLE", "shop.customers")):
        stated = dashboard.call("GET", "/api/overview")["time"] // 1_000
        event = {"eventType": kind, "eventResourceId": resource, "eventTimestamp": _instant(stated)}
        dashboard.call("POST", "/events", event)
    return uuid


def _instant(epoch_s: int) -> str:
    return as_datetime(epoch_s * 1_000).isoformat(timespec="seconds").partition("+")[0]


def take(page: Page, path: Path) -> None:
    """A picture of the whole page; a small one if it is to be kept."""
    when_true(page, "document.fonts.status === 'loaded'")
    content = picture_of(page, full_page=True)
    path.write_bytes(small_png(content) if os.environ.get("ROTA_SCREENSHOTS") else content)
