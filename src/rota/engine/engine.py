"""The engine: an installation as one process has it. Its parts are made here and nowhere else."""

from rota.clock import Clock, NodeClock, SystemClock
from rota.engine.definitions.definitions import Definitions
from rota.engine.definitions.file import FileDefinitions
from rota.engine.events.configurations import Configurations
from rota.engine.events.events import RETENTION_MS, Events
from rota.engine.executors.registry import ExecutorRegistry
from rota.engine.jobs.changes import JobChanges
from rota.engine.jobs.intake import Intake
from rota.engine.schedules.backfill import Backfills
from rota.engine.schedules.schedules import Schedules
from rota.store.store import Store


class Engine:
    """What every surface uses. Whatever changes the store goes through one of its parts; reading needs only `store`.

    Making one asks nobody and imports no executor. All parts may be used from any thread.
    """

    def __init__(
        self,
        store: Store,
        clock: Clock,
        *,
        executors: ExecutorRegistry | None = None,
        event_types: tuple[str, ...] = (),
        event_retention_ms: int = RETENTION_MS,
    ) -> None:
        self.store = store
        self.clock = clock
        self.executors = executors or ExecutorRegistry()
        self.event_types = event_types
        """Those of the settings, beyond the ones that every installation knows."""
        self.definitions = Definitions(store, self.executors)
        self.intake = Intake(store, self.definitions, clock)
        self.jobs = JobChanges(store)
        self.schedules = Schedules(store, self.definitions, self.intake, clock)
        self.backfills = Backfills(store, self.definitions, self.schedules, clock)
        self.events = Events(store, self.definitions, clock, retention_ms=event_retention_ms)
        self.configurations = Configurations(store, self.definitions, clock)
        self.file = FileDefinitions(store, self.definitions, self.schedules, self.configurations)

    @classmethod
    def open(
        cls,
        store: Store,
        clock: SystemClock | NodeClock | None = None,
        *,
        executors: ExecutorRegistry | None = None,
        event_types: tuple[str, ...] = (),
        event_retention_ms: int = RETENTION_MS,
    ) -> "Engine":
        """An engine whose clock agrees with the store's."""
        clock = clock or SystemClock()
        clock.follow(store.now())
        return cls(store, clock, executors=executors, event_types=event_types, event_retention_ms=event_retention_ms)
