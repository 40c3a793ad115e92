"""What schedulers and workers of tasks ask of whatever keeps the tasks. Rota's own is `StoreBackend`."""

from typing import Protocol

from rota.dialects.tasks.entity.task import Task


class Backend(Protocol):
    """Keeps tasks and gives them out. Whoever writes another one gives it to `Scheduler` or `Worker` in place of a
    URL."""

    def add_task(self, task: Task) -> Task:
        """The stored task: this one, or the one that has its id already, unchanged. Called from any thread."""
        ...

    async def wait_for_task(self) -> Task:
        """Wait until there is a task to run, and take it: nobody else gets it. A worker that stops cancels the wait."""
        ...

    async def commit(self, task: Task) -> None:
        """Its run succeeded: plan the next one, or complete the task."""
        ...

    async def handle_error(self, task: Task, error: Exception) -> None:
        """Its run failed: plan another try, or let the task fail."""
        ...
