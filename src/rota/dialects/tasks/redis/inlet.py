"""Takes tasks that other programs put into the queue, or whose time has come there, each once."""

import logging

import msgspec

from rota.dialects.tasks.entity.task import Task, TaskStatus
from rota.dialects.tasks.redis.mirror import Mirror
from rota.dialects.tasks.tasks import Tasks
from rota.errors import Conflict, InvalidInput, NotFound
from rota.store.redis.link.access import RedisAccess
from rota.store.redis.link.scripts import load_scripts

MOST_LOOKED_AT = 1_000
MOST_DEAD = 10_000
PATIENCE_MS = 5_000
"""Whoever writes the queue before the task has this long to come with it."""
_REFUSE = load_scripts("rota.dialects.tasks.redis")["refuse_task"]
_logger = logging.getLogger("rota.tasks")


class Inlet:
    """Takes tasks for one node. What lies in the queue and was not put there by Rota is somebody else's. A task is
    adopted under its id, and an id is added once, so of any number of nodes that take it one does."""

    def __init__(self, access: RedisAccess, tasks: Tasks, mirror: Mirror) -> None:
        self._access = access
        self._tasks = tasks
        self._mirror = mirror
        self._seen: dict[str, int] = {}
        """When an id without a task was first seen."""

    def run_once(self, now: int) -> None:
        """Look once at what waits there, the first of it first."""
        waiting = self._access.ask("lrange", self._mirror.keys.queue, 0, MOST_LOOKED_AT - 1)
        ids = list(dict.fromkeys(id.decode("utf-8", "replace") for id in waiting))
        lists = self._mirror.lists_of(ids)
        foreign = [(id, list) for id, list in zip(ids, lists, strict=True) if list != "queue"]
        self._seen = {id: self._seen.get(id, now) for id, _ in foreign}
        for id, list_before in foreign:
            if list_before is None:
                self._take(id, now)
            else:
                self._hurry(id)

    def wake(self, id: str) -> None:
        """The time of a task has come, as Redis says. Rota's own are looked after; another program's may have nobody
        else who listens."""
        if self._mirror.lists_of([id]) == [None]:
            try:
                task = self._mirror.read(id)
                if task is not None:
                    self._adopt(task)
            except InvalidInput as error:
                _logger.warning("a stored task cannot be taken", extra={"task": id, "reason": str(error)})

    def _take(self, id: str, now: int) -> None:
        try:
            task = self._mirror.read(id)
            if task is None:
                if now - self._seen[id] < PATIENCE_MS:
                    return
                raise InvalidInput("task", f"there is no {self._mirror.keys.task(id)}")
            self._adopt(task.with_changes(delay=0))
        except InvalidInput as error:
            self._refuse(id, str(error), now)

    def _adopt(self, task: Task) -> None:
        """Make it Rota's. One that a worker was quick to complete is shown so by its run; one that was over before it
        began has none."""
        stored = self._tasks.add(task)
        if stored.status is not TaskStatus.COMPLETED:
            self._mirror.show(stored)
        elif self._mirror.lists_of([task.id]) == [None]:
            self._mirror.show(stored.with_changes(status=TaskStatus.ENQUEUED))
            self._mirror.show(stored)
        _logger.debug("task adopted", extra={"task": task.id})

    def _hurry(self, id: str) -> None:
        """Somebody pushed the id of a task that is Rota's: it is to run now."""
        found = self._tasks.find(id)
        if found is not None and found.status is TaskStatus.DELAYED:
            try:
                found = self._tasks.run_now(id)
            except (Conflict, NotFound) as error:
                _logger.info("a task cannot run now", extra={"task": id, "reason": str(error)})
        if found is None:
            self._mirror.hide(id)
            return
        if found.status is not TaskStatus.ENQUEUED:
            self._access.ask("lrem", self._mirror.keys.queue, 0, id)
        self._mirror.show(found)

    def _refuse(self, id: str, reason: str, now: int) -> None:
        keys = self._mirror.keys
        letter = msgspec.json.encode({"id": id, "reason": reason, "time": now})
        if self._access.run(_REFUSE, [keys.queue, keys.dead], [id, letter, MOST_DEAD]):
            _logger.warning("an entry is no task", extra={"task": id, "reason": reason, "kept_in": keys.dead})
