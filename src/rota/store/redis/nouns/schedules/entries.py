"""Between schedules and firings and the arguments and answers of scripts."""

from collections.abc import Mapping

from rota.model.job import Job, JobState
from rota.model.schedules.schedule import ScheduleState
from rota.store.contract.schedules import Firing, ScheduleEntry
from rota.store.records.codec import decode_schedule, decode_schedule_state, encode
from rota.store.redis.link.commands import Value
from rota.store.redis.nouns.jobs.entries import new_entry

_TRIM_SLACK = 100
"""Old rows are forgotten with every hundredth version of a schedule, not one by one."""
_GONE = b"gone"


def schedule_entry(raw: list[bytes], elsewhere: Mapping[str, Job]) -> ScheduleEntry:
    """A schedule from its record, its state, and per job where that is. Jobs that are not in its queue may be
    `elsewhere`."""
    schedule, state = decode_schedule(raw[0]), decode_schedule_state(raw[1])
    if not state.jobs:
        return ScheduleEntry(schedule, state)
    places = dict(zip(state.jobs, (place.decode() for place in raw[2:]), strict=True))
    places |= {job: _place_of(elsewhere[job]) for job in state.jobs if job in elsewhere}
    live = tuple(job for job, place in places.items() if place in ("waiting", "running"))
    waiting = tuple(job for job in live if places[job] == "waiting")
    failed = tuple(job for job, place in places.items() if place == "failed")
    return ScheduleEntry(schedule, state, live, waiting, failed)


def _place_of(job: Job) -> str:
    if job.state.is_final:
        return str(job.state)
    return "running" if job.state is JobState.RUNNING else "waiting"


def has_gone_jobs(raw: list[bytes]) -> bool:
    """Whether some of a schedule's jobs are not in its queue."""
    return _GONE in raw[2:]


def gone_jobs(raw: list[bytes]) -> list[str]:
    """Those jobs of a schedule that are not in its queue."""
    jobs = decode_schedule_state(raw[1]).jobs
    return [job for job, place in zip(jobs, raw[2:], strict=True) if place == _GONE]


def stored_state(state: ScheduleState) -> bytes:
    return b"%d %b" % (state.version, encode(state))


def firing_entry(firing: Firing, now: int) -> list[Value]:
    state, specs = firing.state, firing.specs
    version = state.version
    due = "" if state.due is None else state.due
    trims = 1 if version % _TRIM_SLACK == 0 else ""
    entry: list[Value] = [firing.schedule.uuid, firing.expected, stored_state(state), due]
    entry += (len(firing.ticks), len(specs), trims, *_if_refused(firing.otherwise))
    may_be_refused = any(spec.unique_key is not None for spec in specs)
    for tick in firing.ticks:
        otherwise = encode(tick.without_job()) if may_be_refused and tick.job else b""
        entry += (tick.nominal, encode(tick), otherwise, tick.job or "")
    for spec in specs:
        entry += new_entry(spec, now)
    return entry


def _if_refused(state: ScheduleState | None) -> tuple[Value, Value]:
    if state is None:
        return "", ""
    return stored_state(state), "" if state.due is None else state.due
