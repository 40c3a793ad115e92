"""A run of a task on its way from the engine to whoever handles it, and its end on the way back."""

import asyncio
from collections.abc import Callable
from contextvars import Context


class Delivery:
    """One run in the hands of a worker."""

    __slots__ = ("context", "end", "revoke")

    def __init__(self, context: Context, end: "asyncio.Future[object]") -> None:
        self.context = context
        """In which `current_job()` is the run's job."""
        self.end = end
        self.revoke: Callable[[], object] = lambda: None
        """Called when the run is to stop: it was cancelled, or its node stops."""


async def deliver(task: dict[str, object]) -> None:
    """What a node without a worker of tasks does with one."""
    raise RuntimeError(
        f"task {task.get('id')!r} came to a node that has no handler for it; tasks are run by rota.Worker(url, handler)"
    )
