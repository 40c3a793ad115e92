"""What nearly every verb needs: the options --store, --config and --json, and the installation opened by them."""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import TypeVar

import click

from rota.dialects import registry
from rota.engine.audit.actor import acting_here
from rota.engine.engine import Engine, open_engine
from rota.settings import Settings, load_settings

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
        found = {"store": self._store, **(flags or {})}
        return load_settings(found, os.environ, self._config, Path.cwd(), registry.sections())

    @contextmanager
    def open(self, *, may_create: bool = False) -> Iterator[Engine]:
        """The installation, closed afterwards. A file that is not there yet is made only if the verb may do that."""
        rota = open_engine(self.settings(), may_create=may_create)
        try:
            with acting_here("command line"):
                yield rota
        finally:
            rota.store.close()


def takes_target(verb: Callable[..., R]) -> Callable[..., R]:
    """Gives a verb the three options, as a `Target` before its other arguments."""

    @click.option("--store", metavar="URL", help="The store, such as sqlite:///rota.db or redis://host:6379/0.")
    @click.option("--config", metavar="FILE", type=click.Path(path_type=Path), help="The configuration file.")
    @click.option("--json", "as_json", is_flag=True, help="Answer with one JSON document.")
    @wraps(verb)
    def with_target(*, store: str | None, config: Path | None, as_json: bool, **parameters: object) -> R:
        return verb(Target(store=store, config=config, as_json=as_json), **parameters)

    return with_target
