"""Records changes in the audit log: what is about to be done before it is done, and afterwards that it was.

So there is no change without an entry, whatever happens between: whoever dies in the middle leaves one that is not
done. That costs a change one more write, and a refused one two; jobs that are made cost none, for they have no entry.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from msgspec import Struct

from rota.engine.access.audit.actor import current_actor
from rota.errors import RotaError, StoreError
from rota.model.access.audit import AuditEntry, shown_side
from rota.model.ids import new_id
from rota.store.contract.store import Store

_MOST_NAME = 500


class Change(Struct, frozen=True, kw_only=True):
    """What is done to what."""

    action: str
    kind: str
    name: str
    uuid: str = ""
    before: object = None
    after: object = None


def change_of(kind: str, before: object, after: object) -> Change:
    """A definition is created, changed or deleted: `before` or `after` is None if there was or will be none."""
    named = after if after is not None else before
    action = "create" if before is None else "delete" if after is None else "change"
    name, uuid = str(getattr(named, "name", "")), str(getattr(named, "uuid", ""))
    return Change(action=action, kind=kind, name=name, uuid=uuid, before=before, after=after)


class Recording:
    """The entries of changes that are being made."""

    def __init__(self, changes: Sequence[Change], now: int) -> None:
        self._now = now
        self._ids = [new_id(now) for _ in changes]
        self._changes = list(changes)

    def nothing_was_done(self) -> None:
        """No change was made after all, without an error: there will be no entry."""
        self._changes = []

    def was(self, change: Change) -> None:
        """What was done is now known better than before."""
        self._changes = [change]

    def begun(self) -> list[AuditEntry]:
        return [self._entry(*one, is_done=False) for one in zip(self._ids, self._changes, strict=True)]

    def done(self) -> list[AuditEntry]:
        return [self._entry(*one, is_done=True) for one in zip(self._ids, self._changes, strict=False)]

    def dropped(self) -> list[str]:
        return self._ids[len(self._changes) :]

    def _entry(self, id: str, change: Change, *, is_done: bool) -> AuditEntry:
        actor = current_actor()
        return AuditEntry(
            id=id,
            is_done=is_done,
            time=self._now,
            who=actor.who,
            origin=actor.origin,
            key=actor.key,
            action=change.action,
            kind=change.kind,
            name=change.name[:_MOST_NAME],
            uuid=change.uuid,
            before=shown_side(change.before),
            after=shown_side(change.after),
        )


@contextmanager
def recorded(store: Store, *changes: Change, now: int | None = None) -> Iterator[Recording]:
    """The one who acts makes these changes within, at `now` or by the store's clock.

    If the log cannot be written nothing is changed. What is refused leaves no entry. After an error of the store, or
    the end of the process, nobody knows whether the change was made: its entry stays, and is not done.
    """
    recording = Recording(changes, store.now() if now is None else now)
    if not changes:
        yield recording
        return
    store.append_audit(recording.begun())
    try:
        yield recording
    except StoreError:
        raise
    except RotaError:
        recording.nothing_was_done()
        _settle(store, recording)
        raise
    _settle(store, recording)


def _settle(store: Store, recording: Recording) -> None:
    # The change is made, or refused, and its maker hears of that; the entry says that it was begun in any case.
    with suppress(StoreError):
        store.settle_audit(recording.done(), recording.dropped())
