"""Copies everything of one store into another, empty one.

Queues come first, each as of one moment, then the definitions, so that none is missing that a job of a running
installation refers to. Everything may be written again, so a copy that broke off goes on when it is done again.
What belongs to the store or its nodes, and not to the installation, stays: records of nodes, and who has which job.

What follows from the end of a job may be in another queue than the job, and so of another moment: made after the one
was copied, and before the other. So ends that nobody had taken when the copy began, or that came since, are in the
outbox of the copy. Whoever takes them there makes what is missing, and nothing twice.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from msgspec import Struct, structs

from rota.engine.access.keys.sessions import SECRET
from rota.engine.housekeeping.copies.histories import events_of, ticks_of
from rota.engine.housekeeping.copies.source import fingerprint_of, refuse_live_nodes
from rota.engine.housekeeping.copies.unfinished import UNFINISHED, UnfinishedCopy, begin_copy, check_copy, end_copy
from rota.errors import Conflict, StoreError
from rota.model.events.event import Event
from rota.model.events.record import EventRecord
from rota.model.ids import new_id
from rota.model.job import Job
from rota.model.runs.progress import Progress
from rota.model.runs.settlement import ending_of, given_back
from rota.model.schedules.schedule import Schedule, ScheduleState
from rota.store.contract.copies import QueueCopy
from rota.store.contract.events import (
    Awaited,
    ConfigurationChange,
    ConfigurationEntry,
    Verdicts,
    awaited_ends,
)
from rota.store.contract.schedules import Firing, ScheduleChange
from rota.store.contract.store import Store
from rota.store.contract.topics import TopicEntry
from rota.store.records.unreadable import UNREADABLE, Unreadable

_STEP = 500
_LINES = 1_000
_MOST_EVENTS = 1_000_000
_CLOCKS_MS = 60_000
"""How far the clock of a node that ends jobs may be behind the store's."""
_OF_THE_STORE = ("definitions_version", "epoch", "drain:", "probe:", SECRET, UNFINISHED)
"""How the names of settings begin that belong to a store or to its nodes."""
_Item = TypeVar("_Item")


class Copied(Struct, kw_only=True):
    """What was copied."""

    jobs: int = 0
    schedules: int = 0
    configurations: int = 0
    given_back: int = 0
    """Jobs that ran, and wait in the copy."""
    unreadable: list[Unreadable] = []
    """Records that this version cannot read, and that are not in the copy."""


class Copying:
    """One copy. `tell` hears after every step how many jobs were brought so far."""

    def __init__(self, source: Store, target: Store, *, tell: Callable[[int], None] = lambda jobs: None) -> None:
        self._source = source
        self._target = target
        self._tell = tell
        self._copied = Copied()
        self._began_at = 0
        self._awaited = Awaited(0)
        self._untaken: dict[str, list[Event]] = {}
        """By queue, ends of jobs that are to be in the outbox of the copy, whatever is in it by then."""

    def run(self, name: str, *, is_live: bool = False) -> Copied:
        """Copy everything; `name` says of what, should it break off. Unless the source is live, and nodes may work on
        it, it must be as it was at the beginning when the copy is whole."""
        run = new_id(self._source.now())
        if not is_live:
            refuse_live_nodes(self._source)
        state = run if is_live else fingerprint_of(self._source)
        copy = UnfinishedCopy(source=name, state=state, began_at=self._source.now(), run=run)
        copy = begin_copy(self._target, copy)
        self._copy_queues(copy)
        self._copy_definitions()
        self._copy_settings()
        self._copy_topics()
        self._copy_audit()
        self._copy_event_records()
        if not is_live:
            self._refuse_changes(copy)
        end_copy(self._target, copy)
        self._copied.unreadable += self._source.unreadable_records()
        return self._copied

    def _refuse_changes(self, copy: UnfinishedCopy) -> None:
        refuse_live_nodes(self._source)
        if fingerprint_of(self._source) != copy.state:
            raise Conflict(
                f"{copy.source} has changed while it was copied, and {self._target.url} holds what it was before; see "
                "that nobody works on the one or hands jobs in there, empty the other, and do this again"
            )

    # -- queues ----------------------------------------------------------------------------------------------------

    def _copy_queues(self, unfinished: UnfinishedCopy) -> None:
        self._began_at = unfinished.began_at
        queues = sorted(self._source.list_queues())
        self._untaken = {queue: self._source.read_outbox(queue, limit=_MOST_EVENTS) for queue in queues}
        self._awaited = awaited_ends(0, self._source.listening_configurations(), self._source.list_job_types())
        for queue in sorted(self._source.list_queues()):  # once more, for one that came meanwhile
            check_copy(self._target, unfinished)
            self._copy_queue(queue)

    def _copy_queue(self, queue: str) -> None:
        began_at = self._source.now()
        copy = self._source.copy_queue(queue)
        jobs = 0
        for some in _in_steps(copy.jobs):
            jobs += self._restore_jobs(queue, some)
        for ids in _in_steps(copy.ended):
            jobs += self._restore_jobs(queue, [job for job in self._source.find_jobs(ids) if job])
        for schedule, state in copy.schedules:
            self._restore_schedule(schedule, state, began_at)
        for entry in copy.configurations:
            self._restore_configuration(entry)
        events = {event.id: event for event in [*self._untaken.get(queue, ()), *copy.outbox]}
        minutes = self._source.read_stats(queue, since=0, until=self._source.now() + 1)
        self._target.restore_queue(
            structs.replace(copy, outbox=sorted(events.values(), key=lambda event: event.time)), minutes
        )
        if copy.is_paused:
            self._target.pause_queue(queue)
        self._check(copy, jobs)

    def _restore_jobs(self, queue: str, jobs: Sequence[Job]) -> int:
        readable = [job for job in jobs if not self._is_unreadable(job)]
        kept = [given_back(job, max(self._began_at, job.spec.enqueued_at)) for job in readable]
        self._target.restore_jobs(queue, kept)
        self._untaken.setdefault(queue, []).extend(event for job in kept if (event := self._late_end(job)))
        progress = self._source.read_progress(queue, [job.id for job in readable])
        for job in readable:
            if job.token or job.past:  # others never ran, and wrote nothing
                self._copy_logs(queue, job.id, progress.get(job.id))
        self._copied.jobs += len(kept)
        self._copied.given_back += sum(before != after for before, after in zip(readable, kept, strict=True))
        self._tell(self._copied.jobs)
        return len(kept)

    def _late_end(self, job: Job) -> Event | None:
        """The event of an end that somebody waits for and that came since the copy began, perhaps by the copy itself:
        what was to be cancelled is."""
        ending = ending_of(job)
        if ending is None or ending.ended_at < self._began_at - _CLOCKS_MS:
            return None
        return self._awaited.event_of(job.spec, ending)

    def _is_unreadable(self, job: Job) -> bool:
        cause = job.spec.cause
        if cause is None or cause.kind != UNREADABLE:
            return False
        self._copied.unreadable.append(Unreadable("job", job.id, cause.name))
        return True

    def _copy_logs(self, queue: str, job_id: str, progress: Progress | None) -> None:
        after = 0
        while entries := (page := self._source.read_logs(job_id, after=after, limit=_LINES)).entries:
            self._target.restore_logs(queue, job_id, entries, after=after)
            after = page.next
        if progress is not None:
            self._target.restore_logs(queue, job_id, [], after=after, progress=progress)

    def _restore_schedule(self, schedule: Schedule, state: ScheduleState, began_at: int) -> None:
        """It is put as the version before, and becomes what it was together with its rows."""
        before = structs.replace(state, version=state.version - 1)
        self._target.put_schedules([ScheduleChange(schedule, before, None)])
        ticks = ticks_of(self._source, self._target, schedule, state, began_at)
        firing = Firing(schedule, before.version, state, ticks)
        if self._target.fire_schedules(schedule.queue, [firing], now=began_at) != [True]:
            there = self._target.find_schedules([schedule.uuid])[0]
            self._require(
                there is not None and (there.schedule, there.state) == (schedule, state), "schedule", schedule.name
            )
        self._copied.schedules += 1

    def _restore_configuration(self, entry: ConfigurationEntry) -> None:
        """As a schedule."""
        one, state = entry.configuration, entry.state
        before = structs.replace(state, version=state.version - 1)
        self._target.put_configurations([ConfigurationChange(one, before, None)])
        found = events_of(self._source, entry)
        told, valid = tuple(reversed(found.evaluations)), tuple(reversed(found.validations))
        (applied,) = self._target.apply_verdicts(one.queue, [Verdicts(one, before.version, state, told, valid)], now=0)
        if not applied.done:
            there = self._target.find_configurations([one.uuid])[0]
            self._require(
                there is not None and (there.configuration, there.state) == (one, state), "configuration", one.name
            )
        self._copied.configurations += 1

    def _require(self, is_there: bool, kind: str, name: str) -> None:
        """What the target did not take must be there already, from before the copy broke off."""
        if not is_there:
            raise StoreError(f"{kind} {name!r} was not copied: {self._target.url} has another one; empty it, try again")

    def _check(self, copy: QueueCopy, jobs: int) -> None:
        there = sum(self._target.count_jobs(copy.queue).values())
        if there != jobs:
            raise StoreError(
                f"queue {copy.queue}: {jobs} jobs were copied, but {self._target.url} has {there}; empty it, try again"
            )

    # -- everything else -------------------------------------------------------------------------------------------

    def _copy_definitions(self) -> None:
        node_types, job_types = self._source.list_node_types(), self._source.list_job_types()
        self._target.put_node_types([one for one in node_types if one.managed_by != UNREADABLE])
        self._target.put_job_types([one for one in job_types if one.managed_by != UNREADABLE])

    def _copy_settings(self) -> None:
        for name, value in self._source.list_settings("").items():
            if not name.startswith(_OF_THE_STORE):
                self._target.put_setting(name, value)

    def _copy_topics(self) -> None:
        name = ""
        while topics := self._source.list_topics(limit=_STEP, after=name):
            for topic in topics:
                self._copy_topic(topic)
            name = topics[-1].name

    def _copy_topic(self, topic: TopicEntry) -> None:
        """Up to where it ended when it was listed; it begins where it begins now."""
        offset = topic.first
        while page := self._source.read_topic(topic.name, offset=offset, limit=_STEP):
            rows = [row for row in page.rows if row.offset < topic.end]
            entry = structs.replace(topic, first=min(page.topic.first, topic.end))
            self._target.restore_topic(entry, rows)
            if page.following >= topic.end or page.following == offset:
                break
            offset = page.following

    def _copy_audit(self) -> None:
        before: str | None = None
        while entries := self._source.list_audit(limit=_STEP, before=before):
            self._target.append_audit(entries)
            before = entries[-1].id

    def _copy_event_records(self) -> None:
        """The oldest first: a store keeps the latest that it was given."""
        found: list[EventRecord] = []
        while page := self._source.list_events(limit=_STEP, before=found[-1].id if found else None):
            found += page
        for some in _in_steps(found[::-1]):
            self._target.record_events(some)


def count_all_jobs(store: Store) -> int:
    """How many jobs a copy is about."""
    return sum(sum(store.count_jobs(queue).values()) for queue in store.list_queues())


def _in_steps(items: Sequence[_Item]) -> Iterator[Sequence[_Item]]:
    return (items[start : start + _STEP] for start in range(0, len(items), _STEP))
