"""A configuration: an event trigger that makes jobs. Its dependencies say which events must have come, and how long
each stays valid; its rule says how they are combined."""

import re
from collections.abc import Sequence
from enum import StrEnum
from posixpath import normpath

from msgspec import Struct

from rota.model.events.event import FILE, Event, EventRef
from rota.model.events.glob import glob_matcher

MAX_DEPENDENCIES = 100
MAX_NESTING = 8
MAX_LIFE_S = 10 * 365 * 24 * 3600
MAX_SPANS = 100
"""Separate stretches of validity that are kept for each dependency, the latest ones. Events whose lives overlap are one
stretch, so only a dependency that was validated so often, with gaps, and never led to a job has more."""


class Match(StrEnum):
    """How an event's resource must agree with a dependency's."""

    EXACT = "exact"
    DIRECTORY = "directory"
    """Everything below it. A FILE dependency whose resource ends with a slash has this without saying so."""
    PREFIX = "prefix"
    GLOB = "glob"
    """`*` is anything within a directory, `**` across directories, `?` one character, `[abc]` one of some."""


class ClockKind(StrEnum):
    """By which time lives are measured."""

    EVENT = "event"
    RECEPTION = "reception"


class Late(StrEnum):
    """What an event can still do that comes after the one which it should have preceded."""

    IGNORE = "ignore"
    """A dependency with no life is met by the event in hand only."""
    JOIN = "join"
    """It is also met by a stored event of the very instant at which all the others hold."""


class Dependency(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Events that a configuration waits for."""

    type: str
    resource: str
    life_s: int
    """For this long it stays valid once an event has validated it. 0: only for that very event."""
    match: Match = Match.EXACT
    outcome: str | None = None
    """For JOB: only jobs that ended so."""

    @property
    def life_us(self) -> int:
        return self.life_s * 1_000_000

    def accepts(self, event: Event) -> bool:
        """Whether this event validates it, the time apart."""
        if event.type != self.type or (self.outcome is not None and event.outcome != self.outcome):
            return False
        return resource_matches(self.match, self.resource, event.resource)


class Group(Struct, frozen=True, omit_defaults=True):
    """All of some dependencies, or any of them. A part is the number of a dependency, or a group."""

    parts: tuple["int | Group", ...]
    any_of: bool = False


class Configuration(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """When which job is made."""

    uuid: str
    name: str
    queue: str
    """Where its jobs go, and where it lives."""
    job_type: str
    """Uuid of the job type."""
    dependencies: tuple[Dependency, ...]
    rule: Group | None = None
    """How they are combined; absent means all of them."""
    arguments: dict[str, object] = {}
    priority: int = 0
    clock: ClockKind = ClockKind.EVENT
    late: Late = Late.IGNORE
    logs_only: bool = False
    """No job was named: it makes one that writes a line."""
    own_job_type: bool = False
    """The job type was made for this configuration from an executor that is defined in it, and goes with it."""
    created_at: int = 0
    managed_by: str = ""

    def hits(self, event: Event) -> tuple[int, ...]:
        """The numbers of the dependencies that an event validates, the time apart."""
        return tuple(n for n, one in enumerate(self.dependencies) if one.accepts(event))

    @property
    def tree(self) -> Group:
        return tree_of(self.dependencies, self.rule)


def tree_of(dependencies: Sequence[Dependency], rule: Group | None) -> Group:
    """The rule, which is all of the dependencies if none is given."""
    return rule or Group(tuple(range(len(dependencies))))


class Evidence(Struct, frozen=True, omit_defaults=True):
    """What is known of one dependency."""

    newest: EventRef | None = None
    """The latest event that validated it, by the configuration's clock."""
    spans: tuple[tuple[int, int], ...] = ()
    """When it was valid: from an event to the end of its life, both included, in microseconds. Lives that overlap are
    one span, which says all there is to know, however many events there were."""

    def covers(self, instant: int) -> bool:
        return any(start <= instant <= end for start, end in self.spans)


class ConfigurationState(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """How far a configuration has come."""

    version: int = 1
    """Grows with every change; whoever changes the configuration says which version it saw."""
    evidence: tuple[Evidence, ...] = ()
    """One per dependency."""
    last_execution: int | None = None
    """Epoch microseconds, by the configuration's clock."""
    last_execution_wall: int | None = None
    """When that was decided, epoch milliseconds."""
    evaluated: int = 0
    triggered: int = 0


def first_state(configuration: Configuration, version: int = 1) -> ConfigurationState:
    return ConfigurationState(version=version, evidence=(Evidence(),) * len(configuration.dependencies))


def carried_over(old: Configuration, state: ConfigurationState, new: Configuration) -> ConfigurationState:
    """The state of a configuration that was defined anew: dependencies that stayed keep their evidence."""
    kept = dict(zip(old.dependencies, state.evidence, strict=True)) if old.clock is new.clock else {}
    return ConfigurationState(
        version=state.version + 1,
        evidence=tuple(kept.get(one, Evidence()) for one in new.dependencies),
        last_execution=state.last_execution if old.clock is new.clock else None,
        last_execution_wall=state.last_execution_wall,
        evaluated=state.evaluated,
        triggered=state.triggered,
    )


def default_match(type: str, resource: str) -> Match:
    """A trailing slash makes a FILE dependency a directory; everything else is exact."""
    return Match.DIRECTORY if type == FILE and resource.endswith("/") else Match.EXACT


def resource_matches(match: Match, wanted: str, resource: str) -> bool:
    """A path that climbs out of a directory with `..` is not in it: `/in/../etc/x` is not below `/in/`."""
    if match is Match.EXACT:
        return resource == wanted
    if "/.." in resource and not _begins_or_fits(match, wanted, normpath(resource)):
        return False
    return _begins_or_fits(match, wanted, resource)


def _begins_or_fits(match: Match, wanted: str, resource: str) -> bool:
    if match is Match.GLOB:
        return glob_matcher(wanted)(resource)
    return resource.startswith(literal_start(match, wanted))


def literal_start(match: Match, wanted: str) -> str:
    """What every resource that matches begins with. The stores find dependencies by it."""
    if match is Match.DIRECTORY and not wanted.endswith("/"):
        return wanted + "/"
    return re.split(r"[*?\[]", wanted, maxsplit=1)[0] if match is Match.GLOB else wanted
