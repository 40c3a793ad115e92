"""An installation as its users meet it: by the API, to set the scene, and by a browser."""

import time
import urllib.request
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from playwright.sync_api import Error, Page

from tests.cli.calling import call_process
from tests.patience import LONG_DEADLINE_S
from tests.servers import wait_until

DEADLINE_MS = 1000 * LONG_DEADLINE_S
AXE = Path(__file__).parent / "vendored" / "axe.js"
LOOK = """() => axe.run(document, {runOnly: ["wcag2a", "wcag2aa", "best-practice"]}).then(found => found.violations
  .filter(one => ["serious", "critical"].includes(one.impact))
  .map(one => `${one.id}: ${one.nodes.slice(0, 3).map(node => node.html).join(" ")}`))"""


class Dashboard(Struct, frozen=True):
    address: str
    key: str
    folder: Path
    store: str

    def call(self, method: str, path: str, body: object = None) -> Any:
        """An operation, with the admin key."""
        request = urllib.request.Request(
            f"{self.address}{path}",
            method=method,
            data=None if body is None else msgspec.json.encode(body),
            headers={"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=DEADLINE_MS / 1000) as answer:
            return msgspec.json.decode(answer.read())

    def define(self, name: str, command: str | list[str], **rules: object) -> str:
        """A job type that runs a command; returns its uuid."""
        body = {"name": name, "executor": "bash", "metadata": {"command": command}, **rules}
        return str(self.call("POST", "/api/job_types", body)["uuid"])

    def enqueue(self, job_type: str, **fields: object) -> str:
        return str(self.call("POST", "/api/jobs", {"job_type": job_type, **fields})["uuid"])

    def make_key(self, name: str, role: str) -> str:
        made = call_process("key", "create", name, "--role", role, "--store", self.store)
        assert made.exit_code == 0, made
        return made.stdout.splitlines()[0]

    def sign_in(self, page: Page, key: str, path: str = "/") -> None:
        page.goto(f"{self.address}{path}")
        page.get_by_label("Key").fill(key)
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url(f"{self.address}{path}")


def when_true(page: Page, expression: str) -> None:
    """Ask the page until it says yes. Playwright's own way asks from within the page, where the policy lets nobody make
    code of text."""
    wait_until(lambda: bool(page.evaluate(expression)), expression)


def when_live(page: Page) -> None:
    """The stream of the tab is open."""
    page.wait_for_selector("body[data-stream=open]")


def complaints_of(page: Page) -> list[str]:
    """What is seriously in the way of those who cannot see a page."""
    page.evaluate(AXE.read_text())
    found: list[str] = page.evaluate(LOOK)
    return found


def picture_of(page: Page, *, full_page: bool = False) -> bytes:
    """What a page looks like. Chromium gives up if nothing could be drawn for some seconds, and is asked again."""
    end = time.monotonic() + LONG_DEADLINE_S
    while True:
        try:
            return page.screenshot(full_page=full_page, animations="disabled")
        except Error as error:
            if "Unable to capture" not in error.message or time.monotonic() > end:
                raise


def look_at(page: Page, url: str, picture: Path) -> None:
    """A screen in both themes, of which pictures are kept, with nothing serious in the way of those who cannot see it;
    and at the width of a telephone."""
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme, reduced_motion="reduce")
        page.set_viewport_size({"width": 1280, "height": 800})
        page.goto(url)
        page.wait_for_load_state("load")
        Path(f"{picture}-{theme}.png").write_bytes(picture_of(page))
        assert complaints_of(page) == [], (url, theme)
    page.set_viewport_size({"width": 360, "height": 740})
    when_true(page, "document.documentElement.scrollWidth <= 360")
    page.set_viewport_size({"width": 1280, "height": 800})
