"""Which queues ever had a job of a flow. It is kept in the store, so that nobody looks into the outboxes of others."""

from rota.store.contract.store import Store

_SETTING = "flow_queue:"
LOOK_MS = 2_000
"""How long the first flow of a queue may go unnoticed by other processes."""


class FlowQueues:
    """Used from any thread."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: set[str] = set()
        self._looked_at: int | None = None

    def note(self, queue: str) -> None:
        """A job of a flow is about to be in a queue. The store is told once per process."""
        if queue not in self._known:
            self._store.put_setting(_SETTING + queue, "1")
            self._known.add(queue)

    def all(self, now: int) -> list[str]:
        """As the store has them, or had them a moment ago."""
        self.refresh(now)
        return self.known()

    def refresh(self, now: int) -> None:
        """Ask the store, unless that was done a moment ago."""
        if self._looked_at is None or not 0 <= now - self._looked_at < LOOK_MS:
            self._known |= {name.removeprefix(_SETTING) for name in self._store.list_settings(_SETTING)}
            self._looked_at = now

    def known(self) -> list[str]:
        """Those that this process knows of."""
        return sorted(self._known)
