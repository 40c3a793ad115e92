"""Carries tasks over from the outboxes of a project's databases into the stores of its backends."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

from django.db import connections
from django.tasks import task_backends

from rota.errors import GiveUp, InvalidInput, NotFound
from rota.sdk.django.backend import RotaBackend
from rota.sdk.django.outbox import TABLE, advising, words_of
from rota.sdk.outbox.relay import relay_rows

if TYPE_CHECKING:
    from rota.engine.jobs.intake import JobRequest

PAUSE_S = 0.5
"""Between two looks at an outbox. Databases tell nobody of a commit, and a look is one query by the key."""
_log = logging.getLogger("rota.django")


def outbox_databases() -> list[str]:
    """The databases that the backends of the project name."""
    backends = (task_backends[alias] for alias in task_backends)
    return sorted({one.outbox for one in backends if isinstance(one, RotaBackend) and one.outbox is not None})


def relay(database: str) -> int:
    """Make jobs of all rows that are committed, each in the store of the backend that it names; returns how many."""
    with advising(database), _in_transactions(connections[database]) as connection:
        return relay_rows(connection, _hand_in, table=TABLE)


def relay_all(databases: Sequence[str]) -> int:
    """The same for several databases."""
    return sum(relay(database) for database in databases)


class Relay:
    """Relays the outboxes of some databases again and again, until it is stopped. What fails is logged once, and tried
    again: a database or a store may be away for a while."""

    def __init__(self, databases: Sequence[str], pause_s: float = PAUSE_S) -> None:
        self._databases = databases
        self._pause_s = pause_s
        self._stopping = Event()
        self._failing: set[str] = set()

    def run(self) -> None:
        while not self._stopping.is_set():
            for database in self._databases:
                self._run_once(database)
            self._stopping.wait(self._pause_s)

    @property
    def is_failing(self) -> bool:
        """Whether the last look at one of the databases failed."""
        return bool(self._failing)

    def stop(self) -> None:
        self._stopping.set()

    @contextmanager
    def beside(self) -> Iterator[None]:
        """Run in a thread during the block."""
        thread = Thread(target=self._run_and_close, name="rota-relay", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self.stop()
            thread.join()

    def _run_and_close(self) -> None:
        """The connections are the thread's own."""
        try:
            self.run()
        finally:
            connections.close_all()

    def _run_once(self, database: str) -> None:
        try:
            relayed = relay(database)
        except Exception as error:  # whatever it is: a relay that has ended would not be missed before its tasks are
            if database not in self._failing:
                _log.warning("the outbox of the database %r cannot be relayed now: %s", database, words_of(error))
            self._failing.add(database)
            return
        self._failing.discard(database)
        if relayed:
            _log.debug("relayed %d tasks from the database %r", relayed, database)


@contextmanager
def _in_transactions(connection: Any) -> Iterator[Any]:
    """Have a connection commit when it is told to. After a failure it is opened anew."""
    connection.close_if_unusable_or_obsolete()
    connection.set_autocommit(False)
    try:
        yield connection
    except BaseException:
        connection.close()
        raise
    connection.set_autocommit(connection.settings_dict["AUTOCOMMIT"])


def _hand_in(requests: "Sequence[JobRequest]") -> None:
    by_backend: dict[str, list[JobRequest]] = {}
    for request in requests:
        by_backend.setdefault(str(request.arguments.get("backend")), []).append(request)
    for alias, found in by_backend.items():
        backend = task_backends[alias] if alias in task_backends.settings else None
        if not isinstance(backend, RotaBackend):
            raise NotFound("backend of Rota's", alias, "the task was enqueued with it, and TASKS no longer has it")
        try:
            backend.app.hand_in(found)
        except GiveUp as error:  # the task is gone from the code
            raise InvalidInput("task", str(error)) from None
