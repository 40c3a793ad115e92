"""Names of schedules and configurations, which belong to one each.

They are in an index that no step reaches together with a queue. So a name is reserved first, then its schedule or
configuration is written, and then the name is confirmed. Who finds a name reserved, and nothing there that has it,
frees it: whoever reserved it may have died. If that one is only slow, it finds the name gone when it confirms it, and
begins anew. What is confirmed nobody frees, nor what was reserved anew since it was looked at: a reservation has a
token.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple
from uuid import uuid4

from rota.errors import Conflict
from rota.store.redis.link.commands import Value
from rota.store.redis.link.link import Link


class NameIndex(NamedTuple):
    """The keys of one kind of names."""

    queues: str
    names: str
    order: str
    reservations: str


class Named(NamedTuple):
    """Whose name it is."""

    name: str
    uuid: str
    token: str
    """Of whoever reserved it; empty if it is confirmed."""


def new_token() -> str:
    return uuid4().hex


def name_is_taken(kind: str, name: str) -> Conflict:
    return Conflict(f"another {kind} has the name {name!r}")


def refuse_repeated(kind: str, names: Iterable[tuple[str, str]]) -> None:
    """Nobody can free a name for the second of two that are to get it at once; names come with their uuids."""
    for name, count in Counter(name for name, _ in set(names)).items():
        if count > 1:
            raise name_is_taken(kind, name)


def find_named(link: Link, index: NameIndex, name: str) -> Named | None:
    uuid, token = link.read_together(("hget", index.names, name), ("hget", index.reservations, name))
    return Named(name, uuid.decode(), (token or b"").decode()) if uuid else None


def confirm_names(link: Link, index: NameIndex, names: Sequence[tuple[str, str]]) -> list[bool]:
    """What these names, each with its uuid, were reserved for is there. False if one was freed meanwhile."""
    if not names:
        return []
    args: list[Value] = [part for pair in names for part in pair]
    return [bool(done) for done in link.run("confirm_names", [index.names, index.reservations], args)]


def free_name(link: Link, index: NameIndex, reserved: Named, *, is_gone: bool) -> None:
    """Free a name, unless it was confirmed or reserved anew; `is_gone` says that nothing is there which it was reserved
    for, under no other name either."""
    link.run("free_name", [*index], [reserved.name, reserved.uuid, reserved.token, int(is_gone)])
