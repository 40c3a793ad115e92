"""A browser per module, a fresh profile per test, and an installation that `rota up` runs.

Playwright keeps an event loop running in its thread, so the browser ends with its module: other tests of the same
process run loops of their own."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.browser.dashboard import DEADLINE_MS, Dashboard
from tests.cli.calling import RotaProcess

expect.set_options(timeout=DEADLINE_MS)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    path = os.environ.get("ROTA_TEST_CHROMIUM") or shutil.which("chromium")
    if not path:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(
            "no Chromium; scripts/ensure-chromium gets one"
        )
    with sync_playwright() as playwright:
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        launched = playwright.chromium.launch(executable_path=path, args=arguments, timeout=DEADLINE_MS)
        yield launched
        launched.close()


_LASTING_TOASTS = """
const later = window.setTimeout.bind(window);
window.setTimeout = (what, ms) => later(what, ms >= 5000 ? 3600000 : ms);
"""
"""A word that goes after five seconds is not always seen by somebody who is slow."""


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A tab of a new profile. What its scripts complain of fails the test."""
    context = browser.new_context(viewport={"width": 1280, "height": 800}, timezone_id="America/New_York")
    context.set_default_timeout(DEADLINE_MS)
    context.add_init_script(_LASTING_TOASTS)
    complaints: list[str] = []
    opened = context.new_page()
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.on("console", lambda said: complaints.append(said.text) if "Content Security" in said.text else None)
    yield opened
    context.close()
    assert complaints == []


@pytest.fixture
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """SQLite, unless a test says `redis`."""
    if getattr(request, "param", "sqlite") == "sqlite":
        return f"sqlite:///{tmp_path / 'rota.db'}"
    server = request.getfixturevalue("redis_server")
    server.flush()
    return str(server.url)


@pytest.fixture
def definitions() -> str:
    """The configuration file; a module may have one of its own."""
    return ""


@pytest.fixture
def dashboard(tmp_path: Path, store_url: str, definitions: str) -> Iterator[Dashboard]:
    """An installation, and the key that its first start made."""
    if definitions:
        (tmp_path / "rota.yaml").write_text(definitions)
    words = ["up", "--no-demo", "--port", "0", "--json", "--store", store_url]
    with RotaProcess(words, tmp_path) as process:
        banner = process.banner()
        yield Dashboard(banner["address"], banner["api_key"], tmp_path, store_url)
        assert process.stop() == 0


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    """Where pictures of screens go: a folder that ROTA_SCREENSHOTS names."""
    folder = Path(os.environ.get("ROTA_SCREENSHOTS") or tmp_path)
    folder.mkdir(parents=True, exist_ok=True)
    return folder
