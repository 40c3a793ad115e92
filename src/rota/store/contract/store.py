"""The contract of a store. The docstrings are the promises; `tests/contract` holds every store to them.

A store is synchronous and thread-safe: any thread may call any method at any time. Every operation is atomic: it
happens whole or not at all, also when the process or the store is killed in the middle, and also when many nodes call
at once. Operations take many items, because a round trip costs more than a job. `now` is an argument; a store reads a
clock in `now()` only.

All jobs of one queue (the uuid of a node type) live together, so that one operation on a queue is one atomic step on a
cluster too. An operation that must not happen (a stale token, a job in another state) returns that as a value which the
caller has to look at.

Errors: `StoreUnavailable` when the store cannot be reached, `StoreFull` when it has no room. After one, the caller does
not know whether the operation happened, and may repeat it: jobs are enqueued once, and a settlement that took effect is
recognised. The jobs of a repeated claim are others; `recover_claims` puts back those whose answer was lost. Log lines
that are repeated are there twice.

The operations are in one file per noun, each with the values that it takes and gives.
"""

from typing import Protocol, Self

from rota.store.contract.audit import AuditStore
from rota.store.contract.claims import ClaimStore
from rota.store.contract.copies import CopyStore
from rota.store.contract.definitions import DefinitionStore
from rota.store.contract.events import EventStore
from rota.store.contract.history import HistoryStore
from rota.store.contract.jobs import JobStore
from rota.store.contract.logs import LogStore
from rota.store.contract.nodes import NodeStore
from rota.store.contract.queues import QueueStore
from rota.store.contract.schedules import ScheduleStore
from rota.store.contract.settings import SettingStore
from rota.store.contract.topics import TopicStore
from rota.store.records.unreadable import Unreadable


class Store(
    DefinitionStore,
    SettingStore,
    JobStore,
    ClaimStore,
    QueueStore,
    HistoryStore,
    LogStore,
    NodeStore,
    ScheduleStore,
    EventStore,
    AuditStore,
    TopicStore,
    CopyStore,
    Protocol,
):
    """Everything Rota remembers."""

    @property
    def url(self) -> str:
        """Where it is, without secrets."""
        ...

    def reopen(self) -> Self:
        """Another handle on this very store, which remembers nothing of what this one saw. The caller closes it, before
        this one: what is in memory ends with this one."""
        ...

    def now(self, *, queue: str | None = None) -> int:
        """The store's own clock, in epoch milliseconds. Nodes follow it. With `queue` no other server of a cluster is
        asked than the one that has it."""
        ...

    def problems(self) -> list[str]:
        """What an operator should know about this store's set-up, one sentence each, such as that nothing persists."""
        ...

    @property
    def contacts(self) -> int:
        """Grows whenever a connection to the store is made or breaks. A server that is back may lack the last writes
        that it had acknowledged, so whoever holds claims compares them then; where that cannot be, this is 0."""
        ...

    def troubles(self) -> list[str]:
        """What is wrong with the store right now, one sentence each: refused writes, failed syncs, a log that only
        grows. Cheap: called with every beat."""

    def unreadable_records(self) -> list[Unreadable]:
        """Records that this handle came across and could not read: broken ones, and kinds that only a newer version
        knows. They stay as they are and stop nobody.

        Fields that are not known make no record unreadable. A job without a readable record has a spec of cause
        `unreadable`, which fails when it is run; a node type or job type is managed by `unreadable`; a line of a log
        says that it cannot be read. Everything else is left out, an event in an outbox for good: it is kept as a
        setting instead.
        """
        ...

    def close(self) -> None:
        """Give up all connections. A closed store is not used again. Raises if what was accepted last, with less than
        full durability, could not be brought to the disk."""
        ...
