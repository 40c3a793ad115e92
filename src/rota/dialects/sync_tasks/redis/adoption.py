"""Takes tasks that other programs put into the queue key, each once.

What lies there and is not shown by Rota is somebody else's. Its fields say what it is; its id is never taken apart. It
stays where it is until its collection has no other task, and becomes a job under an id that is made of its own, so that
of any number of nodes that take it one makes it.
"""

import logging
from collections.abc import Iterable, Iterator
from itertools import islice

import msgspec
from msgspec import Struct, structs

from rota.dialects.sync_tasks.names import Collection
from rota.dialects.sync_tasks.redis import keys
from rota.dialects.sync_tasks.redis.mirror import Mirror
from rota.dialects.sync_tasks.task import base_priority, foreign_cause, foreign_job_id
from rota.dialects.sync_tasks.tasks import Tasks
from rota.dialects.sync_tasks.times import iso, read_micros
from rota.engine.engine import Engine
from rota.engine.jobs.intake import JobRequest
from rota.errors import InvalidInput, NotFound, StoreError, StoreFull, StoreUnavailable
from rota.store.redis.link.access import RedisAccess
from rota.store.redis.link.scripts import load_scripts

BATCH = 100
MOST_DEAD = 10_000
PATIENCE_MS = 5_000
"""Whoever writes the queue before the fields has this long to come with them."""
_REFUSE = load_scripts("rota.dialects.sync_tasks.redis")["refuse_task"]
_logger = logging.getLogger("rota.sync_tasks")

Fields = dict[str, str]


class _Seen(Struct, frozen=True):
    """What is known of something that waits there."""

    since: int
    collection: Collection | None = None
    """Which it is of, once that was read."""


class Adoption:
    """Takes tasks for one node."""

    def __init__(self, access: RedisAccess, engine: Engine, mirror: Mirror) -> None:
        self._access = access
        self._engine = engine
        self._mirror = mirror
        self._tasks = Tasks(engine)
        self._seen: dict[str, _Seen] = {}
        """All that others put there and that still waits."""

    def run_once(self, now: int, live: Iterable[Collection]) -> None:
        """Look once at what waits there, the first of it first. What is known to be of a collection with a live task
        waits on, and takes no place from what is behind it."""
        foreign = self._foreign(now)
        self._seen = {id: self._seen.get(id, _Seen(now)) for id, _ in foreign}
        busy = set(live)
        ready = ((id, score) for id, score in foreign if self._seen[id].collection not in busy)
        for id, score in islice(ready, BATCH):
            self._take(id, score, now, busy)

    def _foreign(self, now: int) -> list[tuple[str, float]]:
        """Ids and scores of what Rota does not show."""
        waiting = [*self._texts(self._access.ask("zrevrange", keys.QUEUE, 0, -1, withscores=True), now)]
        shown = self._access.ask("hmget", keys.SHOWN, [id for id, _ in waiting]) if waiting else []
        return [one for one, mine in zip(waiting, shown, strict=True) if mine is None]

    def _texts(self, waiting: Iterable[tuple[bytes, float]], now: int) -> Iterator[tuple[str, float]]:
        """Those whose ids are text, which all that is made of an id must be; the others are refused."""
        for id, score in waiting:
            try:
                yield id.decode(), score
            except UnicodeDecodeError:
                self._refuse(id, "task: its id is not UTF-8", now)

    def _take(self, id: str, score: float, now: int, busy: set[Collection]) -> None:
        seen = self._seen[id]
        try:
            fields = self._fields(id)
            if not fields and now - seen.since < PATIENCE_MS:
                return
            collection = Collection(fields.get("source", ""), fields.get("collection", ""))
            self._seen[id] = structs.replace(seen, collection=collection)
            request = self._request(id, score, fields, collection)
            if collection in busy:
                return
            admission = self._engine.intake.enqueue([request])[0]
        except (InvalidInput, NotFound) as error:
            self._refuse(id.encode(), str(error), now)
            return
        busy.add(collection)
        if admission.job_id == request.id:
            self._mirror.show([self._engine.jobs.find(admission.job_id)])
            _logger.debug("task adopted", extra={"task": id})

    def _fields(self, id: str) -> Fields:
        try:
            raw = self._access.ask("hgetall", keys.task(id))
        except (StoreUnavailable, StoreFull):
            raise
        except StoreError as error:
            raise InvalidInput("task", f"{keys.task(id)} is no hash: {error}") from None
        return {name.decode("utf-8", "replace"): text.decode("utf-8", "replace") for name, text in raw.items()}

    def _request(self, id: str, score: float, fields: Fields, collection: Collection) -> JobRequest:
        if not fields:
            raise InvalidInput("task", f"there is no hash {keys.task(id)}")
        job_type = self._tasks.job_type_of(collection)
        created = read_micros("created_at", fields.get("created_at", "")) // 1000
        return JobRequest(
            id=foreign_job_id(id),
            job_type=job_type.uuid,
            arguments=collection.arguments,
            priority=base_priority(score),
            cause=foreign_cause(id, created),
        )

    def _refuse(self, raw: bytes, reason: str, now: int) -> None:
        id = raw.decode("utf-8", "backslashreplace")
        letter = msgspec.json.encode({"id": id, "reason": reason, "time": now})
        # Of an id that is no text, the hash has a name that is none of ours: it is left as it is.
        names = [keys.QUEUE, keys.DEAD, *([keys.task(id)] if id.encode() == raw else [])]
        if self._access.run(_REFUSE, names, [raw, letter, MOST_DEAD, iso(now)]):
            _logger.warning("an entry is no task", extra={"task": id, "reason": reason, "kept_in": keys.DEAD})
