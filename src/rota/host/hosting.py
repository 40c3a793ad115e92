"""Opens everything that a node of this process needs, in the right order, and closes it again."""

import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from rota.engine.access.keys.admin_key import KeyPlan, check_admin_token, prepare_key
from rota.engine.definitions.definitions import DEFAULT_NODE_TYPE
from rota.engine.engine import store_url
from rota.engine.node.options import SCHEDULER, WORKER
from rota.host.file_watch import FileWatch, apply_file
from rota.host.host import SERVER, Host, tls_of
from rota.host.kafka import kafka_scheduler, without_store
from rota.settings import Settings
from rota.store import Store, open_store


@contextmanager
def hosted(
    settings: Settings,
    roles: frozenset[str],
    *,
    store: Store | None = None,
    read_again: Callable[[], Settings] | None = None,
) -> Iterator[Host]:
    """Everything that a node needs, opened; closed afterwards. A store that is given is used, and stays open. With
    `read_again` a changed file is noticed."""
    settings = without_store(settings) if store is None else settings
    with ExitStack() as opened:
        listener = _listen(settings, opened) if SERVER in roles else None
        if store is None:
            store = open_store(store_url(settings))
            opened.callback(store.close)
        if WORKER in roles:
            make_cwd_importable()
        host = Host.open(settings, store, roles)
        _apply_file(host)
        _require_node_type(host)
        if read_again is not None and settings.config_file is not None and SCHEDULER in roles:
            host.duties.append(FileWatch(settings.config_file, host.engine.file, read_again))
        if listener is not None:
            # Last of all, because a key that is made here is shown once: nothing may fail before that.
            host.listener, host.key_plan = listener, _prepare_key(settings, store, listener)
            if settings.kafka and host.address:
                kafka = kafka_scheduler(settings, host.node, address=host.address, key_plan=host.key_plan)
                opened.enter_context(kafka)
        yield host


def _listen(settings: Settings, opened: ExitStack) -> socket.socket:
    from rota.server.listen import listen

    if (tls := tls_of(settings)) is not None:
        tls.check()
    listener = listen(settings.host, settings.port)
    opened.callback(listener.close)
    return listener


def _prepare_key(settings: Settings, store: Store, listener: socket.socket) -> KeyPlan:
    from rota.server.listen import is_loopback

    is_own_machine = is_loopback(listener)
    if settings.admin_token is not None:
        check_admin_token(settings.admin_token, is_loopback=is_own_machine)
    return prepare_key(store, configured=settings.api_key, is_loopback=is_own_machine)


def make_cwd_importable() -> None:
    """Python jobs may name modules of the project in which the worker was started."""
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.insert(0, folder)


def _apply_file(host: Host) -> None:
    """Definitions in the file become those in the store. A file without any removes them only where a scheduler runs:
    a worker's file may well hold no more than the address of the store."""
    settings = host.settings
    has_definitions = bool(settings.node_types or settings.job_types or settings.schedules or settings.configurations)
    if has_definitions or (settings.config_file and SCHEDULER in host.roles):
        apply_file(host.engine.file, settings, host.engine.clock.now())


def _require_node_type(host: Host) -> None:
    """Only the default one is made when it is not there."""
    if host.settings.node_type != DEFAULT_NODE_TYPE:
        host.engine.definitions.node_type(host.settings.node_type)
