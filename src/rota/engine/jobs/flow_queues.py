"""Which queues ever had a job of a flow. It is kept in the store, so that nobody looks into the outboxes of others."""

from rota.store.store import Store

_SETTING = "flow_queue:"


class FlowQueues:
    """Used from any thread."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._noted: set[str] = set()

    def note(self, queue: str) -> None:
        """A job of a flow is about to be in a queue. The store is told once per process."""
        if queue not in self._noted:
            self._store.put_setting(_SETTING + queue, "1")
            self._noted.add(queue)

    def all(self) -> list[str]:
        return [name.removeprefix(_SETTING) for name in self._store.list_settings(_SETTING)]
