"""The screens of sync tasks in the dashboard: all collections, and one of them with its tasks and its log.

They ask the operations of `routes.py`, and their buttons call them."""

from pathlib import Path

from rota.dialects.sync_tasks.pages import screens
from rota.server.pages.page import Entry, Page, Pages

_TEMPLATES = Path(__file__).parent / "templates"
_SECTION = "Sync tasks"


def make_pages() -> Pages:
    return Pages(
        (
            Page(
                path="/sync",
                needs=("list_sources",),
                section=_SECTION,
                gather=screens.gather,
                template="sync_tasks/all",
                templates=_TEMPLATES,
                parts=screens.PARTS,
            ),
            Page(
                path="/sync/{source}/{collection}",
                needs=("show_collection", "read_logs"),
                section=_SECTION,
                gather=screens.gather_one,
                template="sync_tasks/one",
                templates=_TEMPLATES,
                parts=screens.ONE_PARTS,
            ),
        ),
        (Entry(_SECTION, "/sync", "y", "list_sources"),),
    )
