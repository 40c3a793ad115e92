"""Carries tasks over from the outboxes of a project's databases into the stores of its backends.

A task that cannot become a job now, because its module cannot be imported or the store of its backend is away, waits
for the next look; the others do not wait for it.
"""

import logging
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

from django.db import connections
from django.tasks import task_backends
from msgspec import Struct

from rota.errors import Conflict, GiveUp, InvalidInput, NotFound
from rota.sdk.django.backend import RotaBackend
from rota.sdk.django.outbox import TABLE, advising, words_of
from rota.sdk.django.running import find_task
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


class Relayed(Struct, frozen=True):
    """What came of a look at outboxes."""

    count: int
    trouble: Exception | None
    """What keeps tasks waiting, if any do."""


def relay(database: str) -> Relayed:
    """Make jobs of all rows that are committed, each in the store of the backend that it names."""
    look = _Look()
    with advising(database), _in_transactions(connections[database]) as connection:
        count = relay_rows(connection, look.hand_in, table=TABLE)
    return Relayed(count, look.trouble)


def relay_all(databases: Sequence[str]) -> Relayed:
    """The same for several databases."""
    found = [relay(database) for database in databases]
    return Relayed(sum(one.count for one in found), next((one.trouble for one in found if one.trouble), None))


class Relay:
    """Relays the outboxes of some databases again and again, until it is stopped. What fails is logged once, and tried
    again: a database or a store may be away for a while, and a module be mended."""

    def __init__(self, databases: Sequence[str], pause_s: float = PAUSE_S) -> None:
        self._databases = databases
        self._pause_s = pause_s
        self._stopping = Event()
        self._failing: dict[str, str] = {}
        """By database, what was wrong at the last look."""

    def run(self) -> None:
        while not self._stopping.is_set():
            for database in self._databases:
                self._run_once(database)
            self._stopping.wait(self._pause_s)

    @property
    def is_failing(self) -> bool:
        """Whether the last look at one of the databases failed, or left tasks waiting."""
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
            self._note(database, "the outbox of the database %r cannot be relayed now: %s", error)
            return
        if relayed.count:
            _log.debug("relayed %d tasks from the database %r", relayed.count, database)
        self._note(database, "tasks wait in the outbox of the database %r: %s", relayed.trouble)

    def _note(self, database: str, message: str, trouble: Exception | None) -> None:
        before = self._failing.pop(database, None)
        if trouble is not None:
            self._failing[database] = words_of(trouble)
            if self._failing[database] != before:
                _log.warning(message, database, self._failing[database])


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


class _Look:
    """One look at an outbox. A module or a store that cannot be had is asked for once, not for each row."""

    def __init__(self) -> None:
        self._imports: dict[str, Exception | None] = {}
        """What is wrong with the module of a task, by the path of the task."""
        self._stores: dict[str, Exception] = {}
        """Why the store of a backend takes nothing, by the backend."""

    @property
    def trouble(self) -> Exception | None:
        """What keeps tasks waiting, if any do."""
        return next((one for one in (*self._stores.values(), *self._imports.values()) if one), None)

    def hand_in(self, requests: "Sequence[JobRequest]") -> Collection[str]:
        """Make jobs of requests, and give the ids of those that wait."""
        by_backend: dict[str, list[JobRequest]] = {}
        for request in requests:
            by_backend.setdefault(str(request.arguments.get("backend")), []).append(request)
        return {str(one.id) for alias, found in by_backend.items() for one in self._waiting(alias, found)}

    def _waiting(self, alias: str, requests: "Sequence[JobRequest]") -> "Sequence[JobRequest]":
        """Make jobs of requests to one backend, and give those that wait."""
        backend = task_backends[alias] if alias in task_backends.settings else None
        if not isinstance(backend, RotaBackend):
            raise NotFound("backend of Rota's", alias, "the task was enqueued with it, and TASKS no longer has it")
        ready = [one for one in requests if self._is_there(one.job_type)]
        if ready and alias not in self._stores:
            try:
                backend.app.hand_in(ready)
            except (InvalidInput, NotFound):
                raise
            except Exception as error:
                self._stores[alias] = error
        return requests if alias in self._stores else [one for one in requests if self._imports[one.job_type]]

    def _is_there(self, path: str) -> bool:
        """Whether a task can be imported now: its module may raise anything."""
        if path not in self._imports:
            try:
                find_task(path)
                self._imports[path] = None
            except GiveUp as error:  # the task is gone from the code
                raise InvalidInput("task", str(error)) from None
            except (Exception, SystemExit) as error:
                self._imports[path] = Conflict(f"the task {path!r} cannot be imported: {type(error).__name__}: {error}")
        return self._imports[path] is None
