"""When the last run of a schedule ended, for those that count from there."""

from rota.store.contract.schedules import ScheduleEntry
from rota.store.contract.store import Store


def last_ended(store: Store, entry: ScheduleEntry) -> int | None:
    """None while a run goes on, and where it does not matter. By the clocks of two nodes a run may have ended before it
    was made, and history may have forgotten it: then it ended when it was made."""
    state = entry.state
    has_run = state.last_scheduled_at is not None or bool(state.jobs)  # one that was begun anew has taken over its jobs
    if not entry.schedule.waits_for_end or entry.live_jobs or not has_run:
        return None
    job = store.find_jobs([state.jobs[-1]])[0] if state.jobs else None
    if job is not None and job.ended_at is None:
        return None
    ended = job.ended_at if job else state.last_ended
    return max(ended or 0, state.last_scheduled_at or 0)
