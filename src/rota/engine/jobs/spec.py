"""The one place in which a job is made. People, programs, schedules, backfills and events all come through here."""

from rota.model.flows.flow import Flow
from rota.model.job import Cause, JobSpec
from rota.model.job_type import JobType
from rota.model.runs.retry import RetryPolicy


def make_spec(
    job_type: JobType,
    *,
    id: str,
    queue: str,
    enqueued_at: int,
    arguments: dict[str, object],
    priority: int,
    cause: Cause | None,
    run_at: int | None = None,
    unique_key: str | None = None,
    lock_key: str | None = None,
    timeout_ms: int | None = None,
    retry: RetryPolicy | None = None,
    expires_at: int | None = None,
    flow: Flow | None = None,
    has_own_id: bool = False,
) -> JobSpec:
    """A job of a type. Its unique key is the caller's own before the one of the type's rule; its lock is that of the
    type's rule before the caller's own."""
    return JobSpec(
        id=id,
        job_type=job_type.uuid,
        queue=queue,
        enqueued_at=enqueued_at,
        arguments=arguments,
        priority=priority,
        run_at=run_at,
        unique_key=unique_key or job_type.unique_key_for(arguments),
        lock_key=job_type.lock_key or lock_key,
        rate_key=job_type.rate_key_for(arguments),
        timeout_ms=timeout_ms,
        retry=retry,
        expires_at=expires_at,
        cause=cause,
        flow=flow,
        series=job_type.series,
        has_own_id=has_own_id,
    )
