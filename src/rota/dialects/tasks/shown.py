"""What other programs see of tasks, as far as the store lets them look."""

from collections.abc import Callable
from typing import Protocol

from msgspec import Struct

from rota.dialects.tasks.entity.task import Task


class Cleaned(Struct, frozen=True, kw_only=True):
    """What a clean-up found and did."""

    tasks: int = 0
    """Tasks there are."""
    waiting: int = 0
    """Those of them that wait for their time."""
    rescheduled: int = 0
    """Those that waited for nothing: begun anew, or put into the queue again."""
    removed: int = 0
    """Those that were over and still there."""
    adopted: int = 0
    """Tasks of other programs that nobody looked after."""
    dropped: int = 0
    """Ids in the lists of Redis that have no task."""
    trimmed: int = 0
    """Completed tasks beyond those that Redis keeps."""


class Shown(Protocol):
    """Keys of other programs, brought up to date before an answer speaks of a task."""

    def show(self, task: Task, *, is_new: bool = False) -> None:
        """Show a task as it is. A new one is shown only if nothing is shown of it yet."""
        ...

    def hide(self, id: str) -> None:
        """Show it no longer."""
        ...

    def clean(self, find: Callable[[str], Task | None], adopt: Callable[[Task], Task]) -> Cleaned:
        """Adopt tasks that others left there and Rota does not find, and drop what is about none."""
        ...


class Unseen:
    """Where nobody else looks."""

    def show(self, task: Task, *, is_new: bool = False) -> None:
        """There is nothing to do."""

    def hide(self, id: str) -> None:
        """There is nothing to do."""

    def clean(self, find: Callable[[str], Task | None], adopt: Callable[[Task], Task]) -> Cleaned:
        return Cleaned()
