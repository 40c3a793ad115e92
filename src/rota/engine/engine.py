"""The engine: an installation as one process has it. Its parts are made here and nowhere else."""

from pathlib import Path

from rota.clock import Clock, NodeClock, StoreClock
from rota.engine.access.keys.keys import Keys
from rota.engine.definitions.definitions import Definitions
from rota.engine.definitions.file import FileDefinitions
from rota.engine.events.configurations import Configurations
from rota.engine.events.events import RETENTION_MS, Events
from rota.engine.events.outbox import Outbox
from rota.engine.executors.registry import ExecutorRegistry
from rota.engine.housekeeping.copies.unfinished import refuse_unfinished
from rota.engine.jobs.changes import JobChanges
from rota.engine.jobs.flows import Flows
from rota.engine.jobs.intake import Intake
from rota.engine.jobs.queues import Queues
from rota.engine.observation.observers import Observers
from rota.engine.schedules.backfill import Backfills
from rota.engine.schedules.program_schedules import ProgramSchedules
from rota.engine.schedules.schedules import Schedules
from rota.engine.topics.light.scheduler import SharedScheduler
from rota.engine.topics.topics import Topics
from rota.engine.why.why import Why
from rota.errors import StoreUnavailable
from rota.settings import Settings
from rota.store.contract.store import Store
from rota.store.open import open_store


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
        observers: Observers | None = None,
    ) -> None:
        self.store = store
        self.clock = clock
        self.executors = executors or ExecutorRegistry()
        self.event_types = event_types
        """Those of the settings, beyond the ones that every installation knows."""
        self.observers = observers or Observers()
        """Who hears of what happens in this process."""
        self.definitions = Definitions(store, self.executors)
        self.intake = Intake(store, self.definitions, clock)
        self.flows = Flows(store, self.definitions, self.intake)
        self.schedules = Schedules(store, self.definitions, self.intake, clock)
        self.program_schedules = ProgramSchedules(store, self.definitions, self.schedules)
        self.backfills = Backfills(store, self.definitions, self.schedules, clock)
        self.events = Events(store, self.definitions, clock, retention_ms=event_retention_ms, observers=self.observers)
        self.outbox = Outbox(store, self.definitions, self.events, self.flows, self.intake.flow_queues)
        self.jobs = JobChanges(store, clock, take_flows=self.outbox.take_flows)
        self.queues = Queues(store, self.definitions, clock, take_flows=self.outbox.take_flows)
        self.configurations = Configurations(store, self.definitions, clock)
        self.file = FileDefinitions(store, self.definitions, self.schedules, self.configurations)
        self.keys = Keys(store, clock)
        self.topics = Topics(store)
        self.light: SharedScheduler | None = None
        """Who keeps the light scheduler's definitions where the store does not: Kafka. The host sets it."""
        self.why = Why(store, self.definitions, self.jobs, self.schedules, self.configurations, clock)

    @classmethod
    def open(
        cls,
        store: Store,
        clock: NodeClock | None = None,
        *,
        executors: ExecutorRegistry | None = None,
        event_types: tuple[str, ...] = (),
        event_retention_ms: int = RETENTION_MS,
        observers: Observers | None = None,
    ) -> "Engine":
        """An engine whose clock agrees with the store's; who brings a clock brings one that asks this store. A store
        with a part of a copy is refused."""
        refuse_unfinished(store)
        followed = clock or StoreClock(store.now)
        followed.follow()
        return cls(
            store,
            followed,
            executors=executors,
            event_types=event_types,
            event_retention_ms=event_retention_ms,
            observers=observers,
        )


def open_engine(settings: Settings, *, may_create: bool = True) -> Engine:
    """The installation that the settings name; whoever opened it closes its store. Without `may_create` a file that is
    not there yet is not made: a verb that only looks must not leave an empty store behind in the wrong folder."""
    if not may_create:
        require_store_file(settings.store)
    store = open_store(store_url(settings))
    try:
        return Engine.open(store, event_types=settings.event_types)
    except BaseException:
        store.close()
        raise


def store_url(settings: Settings) -> str:
    """The store's URL with what the settings say about it."""
    if settings.store.startswith("sqlite:") and "synchronous=" not in settings.store:
        mark = "&" if "?" in settings.store else "?"
        return f"{settings.store}{mark}synchronous={settings.sqlite_synchronous}"
    return settings.store


def store_file(url: str) -> Path | None:
    """The file of a SQLite store; None for any other."""
    if not url.startswith("sqlite:"):
        return None
    from rota.store.sqlite.database.database import MEMORY, parse_url

    path, _ = parse_url(url)
    return None if path == MEMORY else Path(path)


def require_store_file(url: str) -> None:
    """A file that is not there is no store to look at."""
    path = store_file(url)
    if path is not None and not path.exists():
        raise StoreUnavailable(f"there is no store at {path} yet; `rota up` makes one, --store names another")
