"""`@job("default", connection=redis)`: a function with `.delay()`."""

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, Protocol, TypeVar, cast

from rota.moving.rq.job import Job
from rota.moving.rq.queue import Queue

P = ParamSpec("P")
R = TypeVar("R", covariant=True)


class WithDelay(Protocol[P, R]):
    """A function that can be enqueued too."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R: ...

    def delay(self, *args: Any, **kwargs: Any) -> Job: ...


class job:  # noqa: N801  RQ's name
    """The decorator. Its options are those of `Queue.enqueue`, and `timeout` is its `job_timeout`."""

    def __init__(self, queue: Queue | str, connection: object = None, **options: Any) -> None:
        self._queue = queue if isinstance(queue, Queue) else Queue(queue, connection=connection)
        limit = {"job_timeout": options.pop("timeout")} if "timeout" in options else {}
        self._options = {**options, **limit}

    def __call__(self, function: Callable[P, R]) -> WithDelay[P, R]:
        @wraps(function)
        def delay(*args: Any, **kwargs: Any) -> Job:
            return self._queue.enqueue(function, *args, **{**self._options, **kwargs})

        function.delay = delay  # type: ignore[attr-defined]
        return cast(WithDelay[P, R], function)
