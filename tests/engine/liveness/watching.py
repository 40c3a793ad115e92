"""A watchdog in a process whose time a test moves."""

from rota.clock import ManualClock
from rota.engine.definitions.definitions import Definitions
from rota.engine.executors.registry import ExecutorRegistry
from rota.engine.liveness.presence import Presence
from rota.engine.liveness.watchdog import Watchdog
from rota.model.liveness import contact_of_node
from rota.model.node import DEAD_AFTER_MS
from rota.store import Store
from tests.contract.building import NOW, new_node

LOOK_MS = 1_000


class Watch:
    """A watchdog, the process in which it runs, and its clock."""

    def __init__(self, store: Store, presence: Presence | None = None) -> None:
        self.store = store
        self.clock = ManualClock(NOW)
        self.node = new_node()
        self.contact, self.record_contact = (contact_of_node(DEAD_AFTER_MS / 1000) for _ in range(2))
        self.definitions = Definitions(store, ExecutorRegistry())
        self.watchdog = Watchdog(
            store,
            self.definitions,
            node=self.node,
            clock=self.clock,
            contact=self.contact,
            record_contact=self.record_contact,
            presence=presence or Presence(None),
        )

    def look(self, *, can_write: bool = True) -> float:
        """One round, after a write of the process."""
        if can_write:
            self.contact.made(self.clock.monotonic())
            self.record_contact.made(self.clock.monotonic())
        return self.watchdog.run_once(self.clock.now())

    def watch(self, ms: int, *, can_write: bool = True) -> None:
        """Look every second for so long."""
        for _ in range(ms // LOOK_MS):
            self.clock.advance(LOOK_MS)
            self.look(can_write=can_write)

    def watch_it_die(self, *, times: int = 1) -> None:
        """Look for the dead time, or for so many of them."""
        self.look()
        self.watch(times * DEAD_AFTER_MS)
