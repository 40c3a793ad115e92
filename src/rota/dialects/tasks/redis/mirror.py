"""Shows tasks in the document's keys."""

import logging
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from rota.dialects.tasks.entity.task import Task, TaskStatus
from rota.dialects.tasks.entity.writing import write_task
from rota.dialects.tasks.names import Names
from rota.dialects.tasks.redis.foreign import read_foreign
from rota.dialects.tasks.redis.keys import Keys
from rota.dialects.tasks.shown import Cleaned
from rota.errors import InvalidInput, StoreError, StoreFull, StoreUnavailable
from rota.store.redis.link.access import RedisAccess
from rota.store.redis.link.commands import Value
from rota.store.redis.link.scripts import load_scripts

MOST_COMPLETED = 1_000
"""Completed tasks that are kept in their list."""
_PAGE = 500
_SCRIPTS = load_scripts("rota.dialects.tasks.redis")
_LISTS = {
    TaskStatus.ENQUEUED: "queue",
    TaskStatus.ACTIVE: "active",
    TaskStatus.FAILED: "failed",
    TaskStatus.COMPLETED: "completed",
}
_logger = logging.getLogger("rota.tasks")


class Mirror:
    """The keys of the tasks of one prefix."""

    def __init__(self, access: RedisAccess, names: Names) -> None:
        self._access = access
        self.names = names
        self.keys = Keys(names.prefix)
        self._was_refused = False

    def show(self, task: Task, *, is_new: bool = False) -> None:
        """See `Shown`."""
        keys = self.keys
        names = [keys.task(task.id), keys.ttl(task.id), keys.ids, keys.queue, keys.active, keys.failed]
        text = msgspec.json.encode(write_task(task, self.names.prefix))
        due = task.next_run or 0 if task.status is TaskStatus.DELAYED else 0
        args: list[Value] = [task.id, text, _LISTS.get(task.status, ""), due, int(is_new), MOST_COMPLETED]
        self.skip_refused(lambda: self._access.run(_SCRIPTS["show_task"], [*names, keys.completed, keys.shown], args))

    def hide(self, id: str) -> None:
        """See `Shown`."""
        keys = self.keys
        names = [keys.task(id), keys.ttl(id), keys.ids, keys.queue, keys.active, keys.failed, keys.shown]
        self.skip_refused(lambda: self._access.run(_SCRIPTS["hide_task"], names, [id]))

    def lists_of(self, ids: list[str]) -> list[str | None]:
        """The list that each was put into, or nothing; None for those that are not shown."""
        found = self._access.ask("hmget", self.keys.shown, ids) if ids else []
        return [None if one is None else one.decode() for one in found]

    def skip_refused(self, step: Callable[[], object]) -> None:
        """Other programs may use such plain key names for something else. Then tasks run unseen."""
        try:
            step()
        except (StoreUnavailable, StoreFull):
            raise
        except StoreError as error:
            if not self._was_refused:
                extra = {"queue": self.keys.queue, "reason": str(error)}
                _logger.warning("the Redis keys of tasks cannot be used; give tasks a prefix", extra=extra)
            self._was_refused = True

    # -- cleaning --------------------------------------------------------------------------------------------------

    def clean(self, find: Callable[[str], Task | None], adopt: Callable[[Task], Task]) -> Cleaned:
        """See `Shown`."""
        adopted = sum(self._adopt(id, adopt) for id in self._unknown())
        dropped = sum(self._drop(key, find) for key in (self.keys.ids, self.keys.active, self.keys.failed))
        length = self._access.ask("llen", self.keys.completed)
        self._access.ask("ltrim", self.keys.completed, -MOST_COMPLETED, -1)
        return Cleaned(adopted=adopted, dropped=dropped, trimmed=max(0, length - MOST_COMPLETED))

    def _unknown(self) -> Iterator[str]:
        """Ids of tasks that others stored."""
        cursor: Any = 0
        while True:
            cursor, found = self._access.ask("scan", cursor, match=self.keys.any_task, count=_PAGE)
            ids = [id for key in found if (id := self.keys.id_of_task(key.decode("utf-8", "replace")))]
            yield from (id for id, known in zip(ids, self.lists_of(ids), strict=True) if known is None)
            if not cursor:
                return

    def _adopt(self, id: str, adopt: Callable[[Task], Task]) -> bool:
        """Whether it is a task, and no failed one: that waits for a person."""
        if self._access.ask("lpos", self.keys.failed, id) is not None:
            return False
        try:
            task = self.read(id)
            stored = adopt(task) if task is not None else None
        except InvalidInput as error:
            _logger.warning("a stored task cannot be taken", extra={"task": id, "reason": str(error)})
            return False
        if stored is not None and stored.status is not TaskStatus.COMPLETED:
            self.show(stored)
        return stored is not None

    def read(self, id: str) -> Task | None:
        """A task as another program stored it, with the delay that it has left; None if there is none."""
        try:
            text = self._access.ask("get", self.keys.task(id))
            left_ms = self._access.ask("pttl", self.keys.ttl(id))
        except (StoreUnavailable, StoreFull):
            raise
        except StoreError as error:
            raise InvalidInput("task", f"{self.keys.task(id)} is no text: {error}") from None
        return None if text is None else read_foreign(id, text, max(0, left_ms))

    def _drop(self, key: str, find: Callable[[str], Task | None]) -> int:
        """Ids in a list about which nothing else is known."""
        dropped = 0
        for raw in set(self._access.ask("lrange", key, 0, -1)):
            id = raw.decode("utf-8", "replace")
            if find(id) is None and not self._access.ask("exists", self.keys.task(id)):
                self._access.ask("lrem", key, 0, raw)
                dropped += 1
        return dropped
