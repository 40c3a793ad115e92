"""The load: producers that hand in jobs of every kind, by the store and by HTTP, as programs do that care.

Each job has an id of the producer's own, noted before it is handed in, and handed in again until it is acknowledged.
What is acknowledged goes into a file too (`accepted`), for a look afterwards.
"""

import heapq
import random
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

from rota.clock import SystemClock
from rota.engine.engine import Engine
from rota.engine.jobs.intake import JobRequest
from rota.errors import Conflict, StoreError
from rota.model.ids import new_id
from rota.model.job import LIVE_STATES
from rota.model.runs.retry import RetryPolicy
from rota.sdk.call import Call
from rota.sdk.client import Client
from rota.store import open_store
from tests.soak.definitions import INBOX, LOCKS, MUST_FAIL, STEP_S
from tests.system.ledger import append_lines

T = TypeVar("T")
MOST_LIVE = 1_500
"""Beyond so many live jobs producers wait: a backlog that nobody can work off proves nothing."""
UNIQUE_KEYS = 4
_AFTER_ERROR_S = 0.3
_MAX_FAILURES = 3


class Load:
    """Hands in jobs while it is entered."""

    def __init__(self, url: str, server: str, key: str, folder: Path, seed: int) -> None:
        self._store = open_store(url)
        engine = Engine(self._store, SystemClock())
        self._intake = engine.intake
        self._queues = [node_type.uuid for node_type in engine.definitions.node_types()]
        self._client = Client(server, key=key, timeout_s=15.0)
        self._file = folder / "accepted"
        self._over = threading.Event()
        self._has_room = True
        self._threads = [
            threading.Thread(target=self._live, args=(act, random.Random(f"{seed}/{act.__name__}"), rest_s))
            for act, rest_s in (
                (self._hand_in_many, 0.5),
                (self._hand_in_one, 0.15),
                (self._hand_in_long, 2.5),
                (self._ask_server, 0.3),
                (self._ask_server_to_cancel, 3.0),
                (self._post_event, 1.0),
                (self._look_for_room, 1.0),
            )
        ]
        self._cancels: list[tuple[float, str]] = []
        self.accepted: set[str] = set()
        self.cancelled: set[str] = set()
        """Jobs that somebody asked to cancel."""
        self.events = 0
        """That were acknowledged."""
        self.events_unknown = 0
        """That may have arrived, and nobody knows."""
        self.errors = 0
        """How often a producer was told that the store or server is away, and tried again."""
        self.failures: list[str] = []
        """What producers were told otherwise."""

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()
        self._client.close()
        self._store.close()

    def _live(self, act: Callable[[random.Random], None], chance: random.Random, rest_s: float) -> None:
        """One producer, until the end. Only an error that nobody can explain ends it before."""
        failures = 0
        while not self._over.wait(chance.uniform(0, 2 * rest_s)):
            try:
                if self._has_room or act == self._look_for_room:
                    act(chance)
            except Exception as error:
                self.failures.append(f"{act.__name__}: {type(error).__name__}: {error}")
                failures += 1
                if failures == _MAX_FAILURES:
                    return

    # -- what is handed in ----------------------------------------------------------------------------------------

    def _hand_in_many(self, chance: random.Random) -> None:
        self._enqueue([_short(chance) for _ in range(10)])

    def _hand_in_one(self, chance: random.Random) -> None:
        self._enqueue([chance.choice(_SINGLE)(chance)])

    def _hand_in_long(self, chance: random.Random) -> None:
        self._enqueue([chance.choice(_LONG)(chance)])

    def _enqueue(self, requests: list[JobRequest]) -> None:
        admissions = self._insist(lambda: self._intake.enqueue(requests))
        if admissions is not None:
            self._accept([admission.job_id for admission in admissions])

    def _ask_server(self, chance: random.Random) -> None:
        request = _short(chance)
        answer = self._insist(
            lambda: self._client.enqueue(
                request.job_type, request.arguments, priority=request.priority, uuid=request.id
            )
        )
        if answer is not None:
            self._accept([answer.uuid])

    def _ask_server_to_cancel(self, chance: random.Random) -> None:
        """Hand in a long command, and cancel an earlier one: it waits, runs, or has ended."""
        request = _shell(chance, 4, 40)
        assert request.id is not None
        self.cancelled.add(request.id)
        answer = self._insist(
            lambda: self._client.enqueue(request.job_type, request.arguments, priority=2, uuid=request.id)
        )
        if answer is not None:
            self._accept([answer.uuid])
            heapq.heappush(self._cancels, (time.monotonic() + chance.uniform(0, 10), answer.uuid))
        while self._cancels and self._cancels[0][0] < time.monotonic():
            _, job_id = heapq.heappop(self._cancels)
            with suppress(Conflict):  # it has ended
                self._insist(lambda job_id=job_id: self._client.cancel_job(job_id))  # type: ignore[misc]

    def _post_event(self, chance: random.Random) -> None:
        event = {
            "eventType": "FILE",
            "eventTimestamp": datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z"),
            "eventResourceId": f"{INBOX}{chance.randrange(1000)}.csv",
            "eventId": _id(),
        }
        ask = Call(method="POST", path="/events", answer=dict[str, object], body=event)
        if self._insist(lambda: self._client.send(ask)) is None:
            self.events_unknown += 1
        else:
            self.events += 1

    def _look_for_room(self, chance: random.Random) -> None:
        try:
            counts = [self._store.count_jobs(queue) for queue in self._queues]
        except StoreError:
            return
        self._has_room = sum(count[state] for count in counts for state in LIVE_STATES) < MOST_LIVE

    # -- how ------------------------------------------------------------------------------------------------------

    def _insist(self, ask: Callable[[], T]) -> T | None:
        """Until it is acknowledged; None if the soak is over before."""
        while True:
            try:
                return ask()
            except StoreError:
                self.errors += 1
                if self._over.wait(_AFTER_ERROR_S):
                    return None

    def _accept(self, job_ids: list[str]) -> None:
        self.accepted.update(job_ids)
        append_lines(self._file, "".join(f"{one}\n" for one in job_ids), is_synced=True)


def _id() -> str:
    return new_id(time.time_ns() // 1_000_000)


def _short(chance: random.Random) -> JobRequest:
    arguments: dict[str, object] = {"ms": chance.randint(1, 200)}
    return JobRequest(
        id=_id(),
        job_type=chance.choice(("coroutine", "coroutine", "thread", "lone_coroutine")),
        arguments=arguments,
        priority=chance.randint(-3, 3),
    )


def _delayed(chance: random.Random) -> JobRequest:
    return JobRequest(
        id=_id(), job_type="coroutine", arguments={"ms": 20}, delay_ms=chance.randint(1, 20_000), priority=1
    )


def _failing(chance: random.Random) -> JobRequest:
    arguments: dict[str, object] = {"ms": 20, "failures": chance.randint(1, 3)}
    return JobRequest(id=_id(), job_type=chance.choice(("coroutine", "thread")), arguments=arguments)


def _unique(chance: random.Random) -> JobRequest:
    key = f"key:{chance.randrange(UNIQUE_KEYS)}"
    return JobRequest(id=_id(), job_type="coroutine", arguments={"ms": 300, "lock": key}, unique_key=key)


def _locked(chance: random.Random) -> JobRequest:
    name = chance.choice(("locked_coroutine", "locked_coroutine", "locked_thread"))
    return JobRequest(id=_id(), job_type=name, arguments={"ms": chance.randint(50, 400), "lock": LOCKS[name]})


def _in_process(chance: random.Random) -> JobRequest:
    return JobRequest(id=_id(), job_type="process", arguments={"ms": 100}, retry=RetryPolicy(attempts=1))


def _too_slow(chance: random.Random) -> JobRequest:
    """Takes longer than anybody is suspended: what has ended when its node wakes has ended, whatever its timeout."""
    return JobRequest(id=_id(), job_type=MUST_FAIL, arguments={"command": ["240", "-"]})


def _shell(chance: random.Random, least_s: float, most_s: float) -> JobRequest:
    steps = round(chance.uniform(least_s, most_s) / STEP_S)
    return JobRequest(id=_id(), job_type="shell", arguments={"command": [str(steps), "-"]}, priority=2)


def _long_shell(chance: random.Random) -> JobRequest:
    return _shell(chance, 5, 45)


def _long_locked_shell(chance: random.Random) -> JobRequest:
    name = chance.choice(("locked_shell", "lone_shell"))
    seconds = chance.uniform(25, 35) if chance.random() < 0.2 else chance.uniform(1, 6)
    command = [str(round(seconds / STEP_S)), LOCKS[name]]
    return JobRequest(id=_id(), job_type=name, arguments={"command": command}, priority=2)


def _long_coroutine(chance: random.Random) -> JobRequest:
    return JobRequest(id=_id(), job_type="coroutine", arguments={"ms": chance.randint(5_000, 45_000)}, priority=2)


_SINGLE = (
    _short,
    _short,
    _short,
    _delayed,
    _delayed,
    _failing,
    _unique,
    _unique,
    _locked,
    _locked,
    _locked,
    _in_process,
)
_LONG = (_long_shell, _long_coroutine, _long_locked_shell, _long_locked_shell, _too_slow)
