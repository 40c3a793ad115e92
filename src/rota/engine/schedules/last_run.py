"""When the last run of a schedule ended, for those that count from there."""

from rota.model.job import Job
from rota.store.contract.schedules import ScheduleEntry
from rota.store.contract.store import Store


def last_ended(store: Store, entry: ScheduleEntry) -> int | None:
    """None while a run goes on, and where it does not matter. By the clocks of two nodes a run may have ended before it
    was made, and history may have forgotten it: then it ended when it was made."""
    state = entry.state
    has_run = state.last_scheduled_at is not None or bool(state.jobs)  # one that was begun anew has taken over its jobs
    if not entry.schedule.waits_for_end or entry.live_jobs or not has_run:
        return None
    job = _find(store, entry.schedule.queue, state.jobs[-1]) if state.jobs else None
    if job is not None and job.ended_at is None:
        return None
    ended = job.ended_at if job else state.last_ended
    return max(ended or 0, state.last_scheduled_at or 0)


def _find(store: Store, queue: str, job_id: str) -> Job | None:
    """It is elsewhere only if its schedule has moved since; so no other server of a cluster is asked in vain."""
    return store.find_jobs([job_id], queue=queue)[0] or store.find_jobs([job_id])[0]
