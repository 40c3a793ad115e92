"""Which dialects there are. A dialect that is not listed here does not exist; its folder is all of it."""

from typing import TYPE_CHECKING, Any

from rota.dialects import light, sync_tasks, synchrony, tasks
from rota.dialects.manifest import Manifest, load

if TYPE_CHECKING:
    # `rota --help` asks for the verbs, and should not wait for the rest.
    from rota.engine.node.dialect import Dialect
    from rota.server.operations import Operation
    from rota.server.pages.page import Pages
    from rota.settings import Settings
    from rota.settings.section import Section
    from rota.store import Store

DIALECTS: tuple[Manifest, ...] = (
    synchrony.MANIFEST,
    sync_tasks.MANIFEST,
    light.MANIFEST,
    tasks.MANIFEST,
)


def open_dialects(settings: "Settings", store: "Store") -> "list[Dialect]":
    """The dialects that a node with these settings speaks on this store."""
    opened = [load(one.opener)(settings, store) for one in DIALECTS]
    return [dialect for dialect in opened if dialect is not None]


def sections() -> "list[Section]":
    """The parts of a configuration file that dialects read."""
    from rota.settings.section import Section

    return [Section(one.name, one.keys, _reader(one.reader)) for one in DIALECTS if one.reader]


def operations(settings: "Settings", store: "Store") -> "list[Operation]":
    """What dialects add to the HTTP API."""
    return [found for one in DIALECTS if one.operations for found in load(one.operations)(settings, store)]


def with_pages(dashboard: "Pages") -> "Pages":
    """The dashboard, and what dialects add to it."""
    for one in DIALECTS:
        if one.pages:
            dashboard = dashboard.and_those_of(load(one.pages)())
    return dashboard


def side_queues(settings: "Settings") -> dict[str, int]:
    """Queues that every worker serves beside its own, by the name of their node type, and how many jobs at a time."""
    found: dict[str, int] = {}
    for one in DIALECTS:
        if one.side_queues:
            found |= load(one.side_queues)(settings)
    return found


def _reader(place: str) -> Any:
    return lambda document: load(place)(document)
