"""The contract of a store, for the audit log. What `store.py` says of all operations holds here too."""

from collections.abc import Sequence
from typing import Protocol

from rota.model.access.audit import AuditEntry


class AuditStore(Protocol):
    """Who changed what. There is no way to change an entry that is done, and retention alone forgets the oldest."""

    def append_audit(self, entries: Sequence[AuditEntry]) -> None:
        """Add entries. One whose id is there already stays as it is, so repeating is harmless."""
        ...

    def settle_audit(self, done: Sequence[AuditEntry], dropped: Sequence[str] = ()) -> None:
        """Put entries in the place of those of their ids, and forget those of other ids, whose changes were not made;
        all in one step. Only entries that are not done are replaced or forgotten, and none is made anew, so repeating
        is harmless."""
        ...

    def list_audit(self, *, limit: int, before: str | None = None) -> list[AuditEntry]:
        """Entries with smaller ids than `before`, the latest first. What cannot be read is left out."""
        ...

    def trim_audit(self, *, older_than: int, keep: int, limit: int) -> int:
        """Forget at most `limit` of the oldest entries: those of before an instant, and those beyond the latest `keep`.
        Returns how many. Not one step on every store; done again, it goes on."""
        ...
