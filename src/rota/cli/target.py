"""What nearly every verb needs: which installation it is about, opened, and how to answer.

An installation is a store, or one behind a server; verbs do not see the difference.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import TypeVar

import click

from rota.dialects import registry
from rota.engine.access.audit.actor import acting_here
from rota.engine.engine import Engine, open_engine
from rota.errors import AuthError
from rota.model.access.masking import mask_url
from rota.settings import Settings, find_config_file, load_settings

R = TypeVar("R")
SERVER_VARIABLE = "ROTA_SERVER"
KEY_VARIABLE = "ROTA_API_KEY"


class Target:
    """Which installation a verb is about, and how to answer."""

    def __init__(
        self,
        *,
        store: str | None,
        config: Path | None,
        as_json: bool,
        server: str | None = None,
        key: str | None = None,
    ) -> None:
        self.as_json = as_json
        self._store = store
        self._config = config
        self._server = server
        self._key = key

    @property
    def is_named(self) -> bool:
        """Whether the command line or the environment says which installation is meant."""
        return self._store is not None or self.is_remote

    @property
    def is_remote(self) -> bool:
        """Whether it is behind a server."""
        return self._chosen_server() is not None

    @property
    def named_store(self) -> str | None:
        """The store that the command line itself names."""
        return self._store

    def with_store(self, url: str) -> "Target":
        """The same, on another store."""
        return Target(store=url, config=self._config, as_json=self.as_json, server=self._server, key=self._key)

    @property
    def has_options(self) -> bool:
        """Whether any of the options was given."""
        given = (self._store, self._config, self._server, self._key)
        return self.as_json or any(one is not None for one in given)

    def config_file(self) -> Path | None:
        """The configuration file in force, if there is one."""
        return find_config_file(os.environ, self._config, Path.cwd())

    def refuse_server_option(self, because: str) -> None:
        """For verbs that are about this machine, whichever server the environment names."""
        if self._server is not None:
            raise click.UsageError(f"{because}; leave --server out, and call it where the store can be reached")

    def refuse_server(self, because: str) -> None:
        """For verbs that no server can do for them, whoever names one: what a reader of ROTA_SERVER takes for the work
        of that server must not be done here in silence."""
        self.refuse_server_option(because)
        if self.is_remote:
            instead = f"name the store with --store, or unset {SERVER_VARIABLE}"
            raise click.UsageError(f"{because}, and {SERVER_VARIABLE} names a server; {instead}")

    def settings(
        self, flags: Mapping[str, object] | None = None, *, because: str = "this verb works on the store itself"
    ) -> Settings:
        """The settings in force, with the verb's own flags. They are of a store; `because` is why it must be one."""
        self.refuse_server(because)
        return self.settings_here(flags)

    def settings_here(self, flags: Mapping[str, object] | None = None) -> Settings:
        """The settings of this machine, also where a verb of it goes to a server."""
        found = {"store": self._store, **(flags or {})}
        return load_settings(found, os.environ, self._config, Path.cwd(), registry.sections())

    @contextmanager
    def open(self, *, may_create: bool = False) -> Iterator[Engine]:
        """The installation, closed afterwards. A file that is not there yet is made only if the verb may do that."""
        server = self._chosen_server()
        rota = open_engine(self.settings(), may_create=may_create) if server is None else self._open_remote(server)
        try:
            with acting_here("command line"):
                yield rota
        finally:
            rota.store.close()

    def _chosen_server(self) -> str | None:
        """A flag beats the environment; a store that the command line names beats the environment's server."""
        if self._server is not None and self._store is not None:
            raise click.UsageError("give --store or --server, not both")
        return self._server or (os.environ.get(SERVER_VARIABLE) or None if self._store is None else None)

    def _open_remote(self, server: str) -> Engine:
        from rota.cli.remote.engine import open_remote_engine

        key = self._key or os.environ.get(KEY_VARIABLE)
        if not key:
            raise AuthError(f"{mask_url(server)} wants a key; give it in {KEY_VARIABLE}, or with --key")
        return open_remote_engine(server, key)


def takes_target(verb: Callable[..., R]) -> Callable[..., R]:
    """Gives a verb the options of a `Target`, which comes before its other arguments."""

    @click.option("--store", metavar="URL", help="The store, such as sqlite:///rota.db or redis://host:6379/0.")
    @click.option("--server", metavar="URL", help="A server instead of a store.  [env: ROTA_SERVER]")
    @click.option("--key", metavar="KEY", help="The key for the server.  [env: ROTA_API_KEY]")
    @click.option("--config", metavar="FILE", type=click.Path(path_type=Path), help="The configuration file.")
    @click.option("--json", "as_json", is_flag=True, help="Answer with one JSON document.")
    @wraps(verb)
    def with_target(
        *, store: str | None, server: str | None, key: str | None, config: Path | None, as_json: bool, **rest: object
    ) -> R:
        return verb(Target(store=store, config=config, as_json=as_json, server=server, key=key), **rest)

    return with_target
