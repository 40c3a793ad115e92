"""Copies of the Redis store: a queue as of one moment, and writing what was read elsewhere."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import Any

from rota.model.job import Job, JobState, rank_of
from rota.model.runs.settlement import ending_of
from rota.model.schedules.schedule import Schedule, ScheduleState
from rota.store.contract.copies import QueueCopy, refuse_claimed
from rota.store.contract.events import ConfigurationEntry
from rota.store.contract.queues import STATS_WORDS, Stats
from rota.store.records.codec import decode_event, decode_schedule, decode_schedule_state, encode
from rota.store.redis.link.commands import Value
from rota.store.redis.link.scripts import parts_of
from rota.store.redis.nouns.events.entries import configuration_entry
from rota.store.redis.nouns.events.listening import RedisListening
from rota.store.redis.nouns.jobs.marks import Mark, job_of, mark_of_known, rank_of_blocked
from rota.store.redis.nouns.queues.stats import EXPIRY_S, HOUR_MS, totals_of
from rota.store.redis.nouns.schedules.moves import RedisScheduleMoves

_PLACES: dict[JobState, int] = {
    state: number for number, state in enumerate(JobState, 1) if state is not JobState.RUNNING
}


class RedisCopies(RedisScheduleMoves, RedisListening):
    """See `rota.store.contract.copies.CopyStore` for what each method promises."""

    def copy_queue(self, queue: str) -> QueueCopy:
        k = self._keys_of(queue)
        keys = [
            k.jobs,
            k.marks,
            k.ready,
            k.delayed,
            k.held,
            k.running,
            k.cancelling,
            k.succeeded,
            k.failed,
            k.cancelled,
        ]
        keys += [k.schedules, k.schedule_states, k.configurations, k.configuration_states]
        ready, delayed, held, running, cancelling, ended, schedules, configurations, outbox, other, totals = (
            self._link.run("copy_queue", [*keys, k.outbox, k.fence, k.totals, k.paused], [])
        )
        # A schedule on its way is in force in neither queue, so that it would be missing.
        moved = [self._end_schedule_move(queue, uuid.decode(), state) for uuid, _, state in parts_of(schedules, 3)]
        if any(moved):
            return self.copy_queue(queue)
        places = [(b"queued", ready), (b"delayed", delayed), (b"queued", _ranked(held)), (b"running", running)]
        is_cancelling = dict.fromkeys(cancelling, b"1")
        found = [job for place, raw in places for job in _jobs_at(queue, place, raw, is_cancelling)]
        fence, is_paused = other
        return QueueCopy(
            queue=queue,
            jobs=[job for job in found if job],
            ended=[raw.decode() for some in ended for raw in some],
            schedules=list(self._defined("schedule", schedules, _schedule_entry)),
            configurations=self._not_left_over(
                queue, list(self._defined("configuration", configurations, configuration_entry))
            ),
            outbox=self._unreadable.read_all("event of queue", queue, decode_event, outbox),
            fence=int(fence),
            totals=totals_of(dict(zip(totals[::2], totals[1::2], strict=True))),
            is_paused=bool(is_paused),
        )

    def _defined(self, kind: str, raw: list[bytes], decode: Callable[[list[bytes]], Any]) -> Iterator[Any]:
        for uuid, body, state in parts_of(raw, 3):
            if entry := self._unreadable.read(kind, uuid.decode(), partial(decode, [body, state])):
                yield entry

    def _not_left_over(self, queue: str, entries: list[ConfigurationEntry]) -> list[ConfigurationEntry]:
        """Without those that are gone, or have come to the queue that they name: a deletion or a move was cut short."""
        homes = self._queues_of([entry.configuration.uuid for entry in entries])
        places = [(entry, entry.configuration.queue, homes.get(entry.configuration.uuid)) for entry in entries]
        return [entry for entry, named, home in places if home is not None and (named == queue or named != home)]

    def restore_jobs(self, queue: str, jobs: Sequence[Job]) -> None:
        refuse_claimed(jobs)
        self._remember_queue(queue)
        k = self._keys_of(queue)
        places = [k.delayed, k.ready, k.running, k.succeeded, k.failed, k.cancelled]
        for part in parts_of(jobs):
            args = [value for job in part for value in _restored_entry(job)]
            self._link.run("restore_jobs", [k.jobs, k.marks, k.unique, k.ended, k.series, *places], args)

    def restore_queue(self, copy: QueueCopy, minutes: Sequence[Stats]) -> None:
        self._remember_queue(copy.queue)
        k = self._keys_of(copy.queue)
        hours = sorted({one.minute // HOUR_MS for one in minutes})
        args: list[Value] = [EXPIRY_S, copy.fence, len(copy.outbox)]
        for event in copy.outbox:
            args += [event.time, encode(event)]
        for word, jobs in _counts(copy.totals):
            args += [0, word, jobs]
        for one in minutes:
            for word, jobs in _counts(one):
                args += [1 + hours.index(one.minute // HOUR_MS), f"{one.minute} {word}", jobs]
        self._link.run("restore_queue", [k.outbox, k.fence, k.totals, *map(k.stats, hours)], args)


def _ranked(held: list[Any]) -> list[Any]:
    """Blocked jobs as ready ones are told: id and rank."""
    members, specs, marks = held
    parts = [member.rsplit(b"\0", 2) for member in members]
    there = [part for _, rank, job_id in parts for part in (job_id, b"%d" % rank_of_blocked(rank))]
    return [there, specs, marks]


def _jobs_at(queue: str, place: bytes, raw: list[Any], cancelling: dict[bytes, bytes]) -> Iterator[Job | None]:
    there, specs, marks = raw
    records = zip(there[::2], there[1::2], chain(*specs), chain(*marks), strict=True)
    for job_id, what, spec, mark in records:
        yield job_of(queue, job_id.decode(), spec, place, what, mark or b"", cancelling.get(job_id, b""))


def _schedule_entry(raw: list[bytes]) -> tuple[Schedule, ScheduleState]:
    return decode_schedule(raw[0]), decode_schedule_state(raw[1])


def _counts(one: Stats) -> list[tuple[str, int]]:
    return [(word, jobs) for word in sorted(STATS_WORDS) if (jobs := getattr(one, word))]


def _restored_entry(job: Job) -> tuple[Value, ...]:
    spec, ending = job.spec, ending_of(job)
    if ending:
        return spec.id, encode(spec), _PLACES[job.state], ending.ended_at, "", encode(ending), ""
    rank = rank_of(spec.priority, job.available_at)
    mark = mark_of_known(spec, job, rank, job.token)
    waits = job.state is JobState.DELAYED
    needs_mark = waits or spec.series or mark != Mark(str(rank))
    score = job.available_at if waits else rank
    return (
        spec.id,
        encode(spec),
        _PLACES[job.state],
        score,
        encode(mark) if needs_mark else "",
        "",
        spec.unique_key or "",
    )
