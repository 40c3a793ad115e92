"""From what a page gathered to HTML. Everything that is put into a template is escaped."""

from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from rota.server.pages.page import TEMPLATES, Context, Page
from rota.server.pages.showing.ansi import ansi_html
from rota.server.pages.showing.readable import readable
from rota.server.pages.showing.static_files import static_url
from rota.server.pages.showing.words import FILTERS


@cache
def _environment(folder: Path) -> Environment:
    made = Environment(
        loader=FileSystemLoader([folder, TEMPLATES]),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.filters |= FILTERS
    made.globals |= {"static": static_url, "ansi": ansi_html}
    return made


def _shown(value: object) -> object:
    """Text as it reads. What is HTML already was made of such."""
    return readable(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def render(template: str, context: Context, folder: Path = TEMPLATES) -> str:
    return _environment(folder).get_template(template).render(context)


def render_page(page: Page, context: Context) -> str:
    return render(f"{page.template}/page.html", context, page.templates)


def render_parts(page: Page, context: Context) -> dict[str, str]:
    """The parts of a page that change while it is open, by name."""
    return {part: render(f"{page.template}/{part}.html", context, page.templates) for part in page.parts}


def render_log(lines: list[Any]) -> str:
    return render("jobs/one/log_lines.html", {"lines": lines})
