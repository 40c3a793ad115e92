"""One declaration per screen: where it is, what it asks, how it is shown, and which of its parts change meanwhile."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from rota.server.pages.asking import Asking

Context = dict[str, Any]
"""What a template is given."""
TEMPLATES = Path(__file__).parent / "templates"


class Entry(Struct, frozen=True):
    """An entry of the navigation, for those who may ask for what it shows."""

    section: str
    path: str
    key: str
    """Typed after `g`, it leads there."""
    operation: str
    is_for_operators: bool = False


class Visit(Struct, frozen=True):
    """A look at a page."""

    path: dict[str, str]
    query: Mapping[str, str]
    navigation: tuple[Entry, ...] = ()
    """The entries that whoever looks may see."""


class Page(Struct, frozen=True, kw_only=True):
    path: str
    section: str
    """The entry of the navigation that it belongs to."""
    needs: tuple[str, ...]
    """The operations that whoever looks must be allowed to ask, whether at the page, at its stream, or at the log."""
    gather: Callable[[Asking, Visit], Context]
    beside: Callable[[Asking, Visit], Context] | None = None
    """What only the whole page shows, and no part of it."""
    template: str
    """Its folder among the templates; `page.html` in there is the whole."""
    templates: Path = TEMPLATES
    """Where its folder is, if not here. It may use those here too."""
    parts: tuple[str, ...] = ()
    """Templates in that folder that are shown again while the page is open."""
    log_of: str = ""
    """The parameter of the path that names the job whose log goes along."""


class Pages(Struct, frozen=True):
    """Pages, and how they are reached: those of the dashboard itself, or what a dialect adds to them."""

    pages: tuple[Page, ...]
    navigation: tuple[Entry, ...]

    def and_those_of(self, others: "Pages") -> "Pages":
        """With those of others, whose entries come before what is for operators."""
        own = [one for one in self.navigation if not one.is_for_operators]
        for_operators = self.navigation[len(own) :]
        return Pages((*self.pages, *others.pages), (*own, *others.navigation, *for_operators))


def check_may_look(asking: Asking, page: Page) -> None:
    """Refuse those who lack something that the page needs."""
    for operation in page.needs:
        asking.check(operation)


def part_id(part: str) -> str:
    return f"part-{part}"
