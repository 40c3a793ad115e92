"""Who may do what. A route needs a scope, a role is a set of scopes, and a key has a role or less than one."""

from collections.abc import Iterable
from enum import StrEnum

from msgspec import Struct

from rota.errors import InvalidInput


class Scope(StrEnum):
    """A right to read (`:r`) or to change (`:w`) one kind of thing."""

    JOBS_READ = "jobs:r"
    JOBS_WRITE = "jobs:w"
    """Enqueue, cancel, retry and delete."""
    TYPES_READ = "types:r"
    TYPES_WRITE = "types:w"
    """Define what can be run: whoever may do this can run anything."""
    QUEUES_READ = "queues:r"
    QUEUES_WRITE = "queues:w"
    """Pause and resume."""
    NODES_READ = "nodes:r"
    NODES_WRITE = "nodes:w"
    """Drain."""
    SCHEDULES_READ = "sched:r"
    SCHEDULES_WRITE = "sched:w"
    """Define, pause and run; a trigger also needs the right to enqueue what it makes."""
    EVENTS_READ = "events:r"
    """Events, and the configurations that wait for them."""
    EVENTS_WRITE = "events:w"
    """Say what happened."""
    CONFIGURATIONS_WRITE = "config:w"
    """Define which events make which job."""
    METRICS_READ = "metrics:r"
    AUDIT_READ = "audit:r"
    """Who changed what."""
    KEYS_WRITE = "keys:w"
    """Make, list and revoke keys; no key makes one that may do more than itself."""


class Role(StrEnum):
    VIEWER = "viewer"
    """Sees everything."""
    OPERATOR = "operator"
    """Runs what is defined: jobs, schedules, events, queues, nodes."""
    EDITOR = "editor"
    """Also defines what can be run, as whoever deploys does."""
    ADMIN = "admin"
    """Also makes keys, and sees who changed what."""


_READ = frozenset(scope for scope in Scope if scope.endswith(":r")) - {Scope.AUDIT_READ}
SCOPES_OF: dict[Role, frozenset[Scope]] = {
    Role.VIEWER: _READ,
    Role.OPERATOR: frozenset(Scope) - {Scope.TYPES_WRITE, Scope.AUDIT_READ, Scope.KEYS_WRITE},
    Role.EDITOR: frozenset(Scope) - {Scope.AUDIT_READ, Scope.KEYS_WRITE},
    Role.ADMIN: frozenset(Scope),
}
_ADDED = frozenset({Scope.CONFIGURATIONS_WRITE, Scope.AUDIT_READ, Scope.KEYS_WRITE})
"""Scopes that are younger than the keys which do not say whether they have a whole role."""
OPEN = None
"""The need of a route that answers everybody."""


class Caller(Struct, frozen=True):
    """Who asks: the name of a key, and what it may do."""

    name: str
    scopes: frozenset[Scope]
    key: str = ""
    """The id of the key; names are given again after a key was revoked."""

    def may(self, need: Scope | None) -> bool:
        return need is OPEN or need in self.scopes


ADMIN = Caller("admin", SCOPES_OF[Role.ADMIN])
NOBODY = Caller("", frozenset())


def scopes_of_old_key(role: Role, named: frozenset[Scope]) -> frozenset[Scope]:
    """What a key may do that was made when there were fewer scopes: one that had all of its role's has all of them now.
    Younger keys say whether they have a whole role."""
    return SCOPES_OF[role] if named == SCOPES_OF[role] - _ADDED else named


def read_scopes(words: Iterable[str], role: Role) -> frozenset[Scope]:
    """The scopes of a key: all of its role's, or those named, which must be among them."""
    named = list(words)
    for word in named:
        if word not in Scope.__members__.values():
            raise InvalidInput("scope", f"must be one of {', '.join(Scope)}, got {word!r}")
        if word not in SCOPES_OF[role]:
            raise InvalidInput("scope", f"{word!r} is more than the role {role.value!r} has; give the key another role")
    return frozenset(map(Scope, named)) or SCOPES_OF[role]
