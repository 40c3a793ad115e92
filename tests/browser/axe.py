"""What those who cannot see a page would complain of, by axe."""

from functools import cache
from pathlib import Path

from playwright.sync_api import Page

_AXE = Path(__file__).parent / "vendored" / "axe.js"
_LOOK = """() => axe.run(document, {runOnly: ["wcag2a", "wcag2aa", "best-practice"]}).then(found => found.violations
  .filter(one => ["serious", "critical"].includes(one.impact))
  .map(one => `${one.id}: ${one.nodes.slice(0, 3).map(node => node.html).join(" ")}`))"""


@cache
def _source() -> str:
    return _AXE.read_text()


def complaints_of(page: Page) -> list[str]:
    """Serious and critical ones."""
    page.evaluate(_source())
    found: list[str] = page.evaluate(_LOOK)
    return found
