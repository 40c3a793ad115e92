"""Reading the schedules of the Redis store: by uuid, by name, and page by page. They live with their queue; one index
knows their names and where each lives."""

from collections.abc import Iterable, Sequence
from functools import partial

from rota.model.job import Job
from rota.model.schedules.schedule import Tick
from rota.store.contract.schedules import ScheduleEntry, SchedulePage
from rota.store.records.codec import decode_tick
from rota.store.redis.keys import SCHEDULE_NAMES, SCHEDULE_ORDER, SCHEDULE_QUEUES, SCHEDULE_USERS
from rota.store.redis.nouns.jobs.reading import RedisJobReading
from rota.store.redis.nouns.schedules.entries import gone_jobs, has_gone_jobs, schedule_entry
from rota.store.redis.nouns.schedules.moves import RedisScheduleMoves, is_moving, queue_of


class RedisScheduleReading(RedisScheduleMoves, RedisJobReading):
    """See `rota.store.contract.schedules.ScheduleStore` for what each method promises."""

    def find_schedules(self, uuids: Sequence[str]) -> list[ScheduleEntry | None]:
        found: dict[str, ScheduleEntry] = {}
        asked: dict[str, bytes] = {}
        missing = list(dict.fromkeys(uuids))
        while missing:
            # One that is not where it should be is looked for again if that is another place now.
            places = dict(zip(missing, self._redis.hmget(SCHEDULE_QUEUES, missing), strict=True))
            at = {uuid: place for uuid, place in places.items() if place is not None and asked.get(uuid) != place}
            asked |= at
            for uuid in self._find_at(at, found):
                del asked[uuid]
            missing = [uuid for uuid in at if uuid not in found]
        return [found.get(uuid) for uuid in uuids]

    def _find_at(self, places: dict[str, bytes], found: dict[str, ScheduleEntry]) -> list[str]:
        """Add the schedules that are in force at these places; returns those that were on their way and have arrived
        now, or stayed."""
        by_queue: dict[str, list[str]] = {}
        for uuid, place in places.items():
            by_queue.setdefault(queue_of(place), []).append(uuid)
        moved: list[str] = []
        for queue, some in by_queue.items():
            k = self._keys_of(queue)
            keys = [k.schedules, k.schedule_states, k.running, k.ended, k.jobs]
            raws = dict(zip(some, self._link.run("find_schedules", keys, some), strict=True))
            moved += self._end_schedule_moves(queue, raws.values())
            here = {uuid: raw for uuid, raw in raws.items() if raw and not is_moving_entry(raw)}
            elsewhere = self._jobs_elsewhere(queue, here.values())
            for uuid, raw in here.items():
                if entry := self._unreadable.read("schedule", uuid, partial(schedule_entry, raw, elsewhere)):
                    found[uuid] = entry
        return moved

    def _end_schedule_moves(self, queue: str, raws: Iterable[list[bytes]]) -> list[str]:
        """Bring the moves of those schedules to their end that are on their way; returns which these are."""
        moving = [(raw[0].decode(), raw[1]) for raw in raws if is_moving_entry(raw)]
        return [uuid for uuid, state in moving if self._end_schedule_move(queue, uuid, state)]

    def _schedule_entries(self, kind: str, queue: str, raws: Iterable[list[bytes]]) -> list[ScheduleEntry]:
        """Schedules from what scripts answer; none that is on its way to another queue, or that cannot be read."""
        here = [raw for raw in raws if not is_moving_entry(raw)]
        elsewhere = self._jobs_elsewhere(queue, here)
        return self._unreadable.read_all(kind, queue, partial(schedule_entry, elsewhere=elsewhere), here)

    def _jobs_elsewhere(self, queue: str, raws: Iterable[list[bytes]]) -> dict[str, Job]:
        """Jobs that schedules made before they moved here, and that are still known where they wait or run. All queues
        are asked, but only for jobs that are not in this one, which are few: a schedule forgets those that ended."""
        some = [raw for raw in raws if has_gone_jobs(raw)]
        if not some:
            return {}
        ids = [job for jobs in self._unreadable.read_all("schedule of queue", queue, gone_jobs, some) for job in jobs]
        return {job.id: job for job in self.find_jobs(ids) if job and job.spec.queue != queue}

    def _queue_of_schedule(self, uuid: str) -> str | None:
        place = self._redis.hget(SCHEDULE_QUEUES, uuid)
        return queue_of(place) if place is not None else None

    def schedule_uuid(self, name: str) -> str | None:
        uuid = self._redis.hget(SCHEDULE_NAMES, name)
        return uuid.decode() if uuid is not None else None

    def list_schedules(self, *, limit: int, cursor: str | None = None, job_type: str | None = None) -> SchedulePage:
        names = self._names(limit, cursor or "", job_type)
        owners = self._redis.hmget(SCHEDULE_NAMES, names) if names else []
        named = [(name, uuid.decode()) for name, uuid in zip(names, owners, strict=True) if uuid]
        found = self.find_schedules([uuid for _, uuid in named])
        # While a schedule is renamed the index has both names; its record has the one that counts.
        entries = [
            entry
            for (name, _), entry in zip(named, found, strict=True)
            if entry and entry.schedule.name == name and job_type in (None, entry.schedule.job_type)
        ]
        return SchedulePage(entries, names[-1] if len(names) == limit else None)

    def _names(self, limit: int, after: str, job_type: str | None) -> list[str]:
        if job_type is None:
            found = self._redis.zrangebylex(SCHEDULE_ORDER, f"({after}", "+", start=0, num=limit)
            return [raw.decode() for raw in found]
        first, last = f"({job_type} {after}", f"({job_type}!"
        found = self._redis.zrangebylex(SCHEDULE_USERS, first, last, start=0, num=limit)
        return [raw.decode().partition(" ")[2] for raw in found]

    def next_schedules(self, queue: str, *, limit: int) -> list[ScheduleEntry]:
        k = self._keys_of(queue)
        keys = [k.schedules, k.schedule_states, k.schedule_due, k.running, k.ended, k.jobs]
        return self._schedule_entries("schedule of queue", queue, self._link.run("next_schedules", keys, [limit]))

    def list_ticks(self, uuid: str, *, limit: int, before: int | None = None) -> list[Tick]:
        latest = "+inf" if before is None else f"({before}"
        rows: list[bytes] = []
        asked, queue = None, self._queue_of_schedule(uuid)
        while queue is not None and queue != asked and not rows:
            rows = self._redis.zrevrangebyscore(self._keys_of(queue).ticks(uuid), latest, "-inf", start=0, num=limit)
            # They may have moved to another queue since that was asked for.
            asked, queue = queue, queue if rows else self._queue_of_schedule(uuid)
        return self._unreadable.read_all("tick of schedule", uuid, decode_tick, rows)


def is_moving_entry(raw: list[bytes]) -> bool:
    """Whether a script answers that a schedule is on its way: with its uuid, and what its state says."""
    return len(raw) == 2 and is_moving(raw[1])
