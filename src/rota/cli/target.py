"""What nearly every verb needs: the options --store, --config and --json, and the store opened by them."""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property, wraps
from pathlib import Path
from typing import TypeVar

import click

from rota.clock import SystemClock
from rota.engine.definitions.definitions import Definitions
from rota.engine.definitions.file import FileDefinitions
from rota.engine.events.configurations import Configurations
from rota.engine.events.events import Events
from rota.engine.executors.registry import ExecutorRegistry
from rota.engine.jobs.intake import Intake
from rota.engine.schedules.backfill import Backfills
from rota.engine.schedules.schedules import Schedules
from rota.errors import StoreUnavailable
from rota.settings import Settings, load_settings
from rota.store import Store, open_store

R = TypeVar("R")


class Target:
    """Which installation a verb is about, and how to answer."""

    def __init__(self, *, store: str | None, config: Path | None, as_json: bool) -> None:
        self.as_json = as_json
        self._store = store
        self._config = config

    @property
    def named_store(self) -> str | None:
        """The store that the command line itself names."""
        return self._store

    def with_store(self, url: str) -> "Target":
        """The same, on another store."""
        return Target(store=url, config=self._config, as_json=self.as_json)

    @property
    def has_options(self) -> bool:
        """Whether any of the options was given."""
        return self.as_json or self._store is not None or self._config is not None

    def settings(self, flags: Mapping[str, object] | None = None) -> Settings:
        """The settings in force, with the verb's own flags."""
        return load_settings({"store": self._store, **(flags or {})}, os.environ, self._config, Path.cwd())

    @contextmanager
    def open(self, *, may_create: bool = False) -> Iterator["Opened"]:
        """The installation, closed afterwards. A file that is not there yet is made only if the verb may do that."""
        settings = self.settings()
        if not may_create:
            require_store_file(settings.store)
        store = open_store(store_url(settings))
        try:
            yield Opened(settings, store)
        finally:
            store.close()


class Opened:
    """An installation in use."""

    def __init__(self, settings: Settings, store: Store) -> None:
        self.settings = settings
        self.store = store

    @cached_property
    def clock(self) -> SystemClock:
        """The store's time."""
        clock = SystemClock()
        clock.follow(self.store.now())
        return clock

    @cached_property
    def definitions(self) -> Definitions:
        return Definitions(self.store, ExecutorRegistry())

    @cached_property
    def intake(self) -> Intake:
        return Intake(self.store, self.definitions, self.clock)

    @cached_property
    def schedules(self) -> Schedules:
        return Schedules(self.store, self.definitions, self.intake, self.clock)

    @cached_property
    def backfills(self) -> Backfills:
        return Backfills(self.store, self.definitions, self.schedules, self.clock)

    @cached_property
    def file_definitions(self) -> FileDefinitions:
        return FileDefinitions(self.store, self.definitions, self.schedules, self.clock)

    @cached_property
    def configurations(self) -> Configurations:
        return Configurations(self.store, self.definitions, self.clock)

    @cached_property
    def events(self) -> Events:
        return Events(self.store, self.definitions, self.clock)

    def job_type_names(self) -> dict[str, str]:
        """Name by uuid."""
        return {one.uuid: one.name for one in self.definitions.job_types()}

    def queue_names(self) -> dict[str, str]:
        """Name of the node type by uuid, which is the queue's."""
        return {one.uuid: one.name for one in self.definitions.node_types()}


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
    """A verb that only looks must not leave an empty store behind in the wrong folder."""
    path = store_file(url)
    if path is not None and not path.exists():
        raise StoreUnavailable(f"there is no store at {path} yet; `rota up` makes one, --store names another")


def takes_target(verb: Callable[..., R]) -> Callable[..., R]:
    """Gives a verb the three options, as a `Target` before its other arguments."""

    @click.option("--store", metavar="URL", help="The store, such as sqlite:///rota.db or redis://host:6379/0.")
    @click.option("--config", metavar="FILE", type=click.Path(path_type=Path), help="The configuration file.")
    @click.option("--json", "as_json", is_flag=True, help="Answer with one JSON document.")
    @wraps(verb)
    def with_target(*, store: str | None, config: Path | None, as_json: bool, **parameters: object) -> R:
        return verb(Target(store=store, config=config, as_json=as_json), **parameters)

    return with_target
