"""Between jobs and the arguments and answers of scripts."""

from rota.model.job import Job, JobSpec, JobState, available_at_of_rank, rank_of
from rota.store.records.codec import encode
from rota.store.redis.link.commands import Value
from rota.store.redis.nouns.jobs.marks import mark_of


def new_entry(spec: JobSpec, now: int) -> tuple[Value, ...]:
    waits = spec.run_at is not None and spec.run_at > now
    rank = rank_of(spec.priority, spec.available_at)
    due = spec.run_at if waits and spec.run_at is not None else ""
    return spec.id, encode(spec), rank, due, mark_of(spec, rank, waits=waits), spec.unique_key or ""


def retried_entry(spec: JobSpec, now: int) -> tuple[Value, ...]:
    rank = rank_of(spec.priority, now)
    return spec.id, rank, mark_of(spec, rank, waits=False), spec.unique_key or ""


def is_retried(job: Job, now: int) -> bool:
    """Whether a job stands as a retry at `now` leaves it: in its place, or claimed from there."""
    ready_at = available_at_of_rank(rank_of(job.spec.priority, now))
    return job.state in (JobState.QUEUED, JobState.RUNNING) and job.available_at == ready_at
