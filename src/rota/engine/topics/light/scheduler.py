"""What a light scheduler promises, wherever it keeps its definitions: in the store, or in Kafka."""

from typing import Annotated, Protocol

from msgspec import Meta, Struct

from rota.model.topics.light.definition import TaskDefinition, TaskKey
from rota.model.triggers.interval import TimeUnit

MAX_PAGE = 1_000


class DefinitionQuery(Struct, frozen=True):
    """Which definitions; None leaves a field open."""

    host: str | None = None
    name: str | None = None
    unit: TimeUnit | None = None
    limit: Annotated[int, Meta(ge=1, le=MAX_PAGE)] = 100
    cursor: str | None = None

    @property
    def key(self) -> TaskKey | None:
        """The one definition that can be meant, if host and name are given."""
        return TaskKey(self.host, self.name) if self.host is not None and self.name is not None else None

    def matches(self, definition: TaskDefinition) -> bool:
        """Whether a definition is meant. One without a frequency has no unit, and any unit will do."""
        return (
            self.host in (None, definition.host)
            and self.name in (None, definition.name)
            and (self.unit is None or definition.unit in (None, self.unit))
        )


class DefinitionPage(Struct, frozen=True):
    definitions: list[TaskDefinition]
    """Settled: each has its start."""
    cursor: str | None = None
    """Where the next page begins; None at the end. A page may be short, or empty, and still have one."""


class LightScheduler(Protocol):
    """Keeps task definitions and puts due tasks onto their topics. Any thread may call any method; a call may block.

    `StoreUnavailable` says that whatever keeps the definitions cannot be reached now, or changes hands; the caller does
    not know whether a command was accepted, and may repeat it.
    """

    def apply(self, command: TaskDefinition) -> None:
        """Carry out a command. When this returns, the command is kept, whatever becomes of this process.

        A key has one definition, whatever its unit: INSERT and UPDATE put another one in its place in one step, and an
        instant that was sent is not sent again. `NotFound` of kind `task definition`, and nothing changed, if UPDATE or
        DELETE finds none.
        """
        ...

    def find(self, query: DefinitionQuery) -> DefinitionPage:
        """A page of definitions, by host and name. One that was applied before is among them; one that was sent for the
        last time is not."""
        ...


class SharedScheduler(LightScheduler, Protocol):
    """One of several instances, among which the definitions are shared out by partitions of their keys."""

    @property
    def peer_key(self) -> str:
        """What instances show when they ask each other; empty if they cannot."""
        ...

    @property
    def trouble(self) -> str | None:
        """What keeps it from its duty, in one sentence; None if nothing does."""
        ...

    def find_here(self, partition: int, query: DefinitionQuery) -> DefinitionPage:
        """A page of what this instance has of a partition. `StoreUnavailable` if it has not got it, or not yet."""
        ...
