"""Standing between the steps of an operation: a process dies there, does not hear an answer, or somebody else acts.

SQLite takes one step for each operation; Redis one for every round trip, be it a command or several that go together.
"""

import threading
from collections.abc import Callable
from typing import Any, Generic, NamedTuple, Self, TypeVar

from redis.exceptions import ConnectionError as RedisConnectionError

from rota.store import Store
from rota.store.redis.link.cluster import Cluster
from rota.store.redis.store import RedisStore
from tests.patience import DEADLINE_S

_Answer = TypeVar("_Answer")
_Step = TypeVar("_Step")
Event = Callable[[], object]


class Dies(BaseException):
    """The process dies here, and does nothing after it."""


class Ran(NamedTuple, Generic[_Answer]):
    answer: _Answer | None
    """None if the process died."""
    is_reached: bool
    """Whether there was such a step."""


def die() -> None:
    raise Dies


def lose_answer() -> None:
    """What was asked for has happened, and the connection breaks."""
    raise RedisConnectionError("lost, as the test wants it")


class _Steps:
    """Counts the steps of a store, and has something happen once."""

    def __init__(self, number: int, before: Event | None, after: Event | None) -> None:
        self._number, self._before, self._after = number, before, after
        self.taken = 0
        self.is_reached = False

    def take(self, step: Callable[[], _Answer]) -> _Answer:
        is_here = self.taken == self._number
        self.taken += 1
        self.is_reached |= is_here
        if is_here and self._before:
            self._before()
        answer = step()
        if is_here and self._after:
            self._after()
        return answer


def run_with(
    store: Store, number: int, call: Callable[[], _Answer], *, before: Event | None = None, after: Event | None = None
) -> Ran[_Answer]:
    """Call an operation of a store, and have something happen before or after one of its steps, of which the first has
    the number 0."""
    steps = _Steps(number, before, after)
    try:
        return Ran(_call(store, steps, call), steps.is_reached)
    except Dies:
        return Ran(None, steps.is_reached)


def count_steps(store: Store, call: Callable[[], object]) -> int:
    """How many steps an operation of a store takes."""
    steps = _Steps(-1, None, None)
    _call(store, steps, call)
    return steps.taken


def _call(store: Store, steps: "_Steps | Held[_Answer]", call: Callable[[], _Answer]) -> _Answer:
    if not isinstance(store, RedisStore):
        return steps.take(call)
    client = store._link.client
    execute, pipeline = client.execute_command, client.pipeline
    client.execute_command = _counted(steps, execute)
    client.pipeline = lambda **options: _counted_pipeline(steps, pipeline(**options))
    if isinstance(client, Cluster):
        client.send_together = _counted(steps, client.send_together)  # type: ignore[method-assign]
    try:
        return call()
    finally:
        client.execute_command, client.pipeline = execute, pipeline
        client.__dict__.pop("send_together", None)


def _counted(steps: "_Steps | Held[Any]", call: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args, **options: steps.take(lambda: call(*args, **options))


def _counted_pipeline(steps: "_Steps | Held[Any]", pipeline: Any) -> Any:
    pipeline.execute = _counted(steps, pipeline.execute)
    return pipeline


class Held(Generic[_Answer]):
    """An operation of a store, in a thread of its own, that is held up before one of its steps, and if wanted before
    the one after it, until it may go on."""

    def __init__(self, store: Store, number: int, call: Callable[[], _Answer]) -> None:
        self._numbers = {number, number + 1}
        self._taken = 0
        self._stands, self._may_go = threading.Semaphore(0), threading.Semaphore(0)
        self._thread = threading.Thread(target=self._run, args=(store, call), daemon=True)
        self._answers: list[_Answer] = []
        self.is_reached = False
        """Whether there was such a step."""
        self._is_over = False

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._stands.acquire(timeout=DEADLINE_S)
        return self

    def go_on_until_next_step(self) -> None:
        if not self._is_over:  # the thread may be alive for a moment after its last word
            self._may_go.release()
            assert self._stands.acquire(timeout=DEADLINE_S)

    def go_on(self) -> _Answer:
        """To the end."""
        self._numbers.clear()
        self._may_go.release()
        self._thread.join(DEADLINE_S)
        (answer,) = self._answers
        return answer

    def __exit__(self, *_: object) -> None:
        self.go_on()

    def _run(self, store: Store, call: Callable[[], _Answer]) -> None:
        try:
            self._answers.append(_call(store, self, call))
        finally:
            self._is_over = True
            self._stands.release()

    def take(self, step: Callable[[], _Step]) -> _Step:
        if self._taken in self._numbers:
            self.is_reached = True
            self._stands.release()
            assert self._may_go.acquire(timeout=DEADLINE_S)
        self._taken += 1
        return step()
