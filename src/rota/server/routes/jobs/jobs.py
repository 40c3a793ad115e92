"""Jobs: enqueue, list, show, cancel, retry, delete."""

from typing import Annotated

from msgspec import Meta, Struct

from rota.engine.access.keys.access import Scope
from rota.engine.jobs.intake import JobRequest
from rota.errors import InvalidInput
from rota.server.answers import DoneTo
from rota.server.api import Api
from rota.server.operations import Call, Routes
from rota.server.routes.jobs.filters import JobFilter, job_query
from rota.server.routes.pages import JobList, job_page
from rota.shapes import fields
from rota.shapes.jobs import JobShape
from rota.shapes.why import WhyShape, why_shape
from rota.store.contract.jobs import CancelAnswer

MAX_BULK = 10_000
MAX_BULK_BYTES = 64 * 1024 * 1024

routes = Routes("jobs")


class NewJob(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A request for a job. Only the job type is needed, by uuid or name."""

    job_type: fields.Reference | None = None
    job_type_uuid: fields.Reference | None = None
    """The same, as Synchrony names it; one of the two is needed."""
    arguments: dict[str, object] = {}
    priority: fields.Priority = 0
    delay: fields.Delay | None = None
    """Not before so much time has passed; not beside `run_at`."""
    run_at: fields.Instant | None = None
    expires: fields.Expiry | None = None
    """A job that has not begun when so much time has passed is cancelled; not beside `expires_at`."""
    expires_at: fields.Instant | None = None
    unique_key: fields.UniqueKey | None = None
    timeout: fields.Timeout | None = None
    retries: fields.Retries | None = None
    uuid: fields.Uuid | None = None
    """The caller's own id: handing the same job in again makes no second one."""

    def request(self) -> JobRequest:
        return JobRequest(
            job_type=self._job_type(),
            arguments=self.arguments,
            priority=self.priority,
            delay_ms=fields.delay_ms(self.delay),
            run_at=self.run_at,
            expires_ms=fields.expires_ms(self.expires),
            expires_at=self.expires_at,
            unique_key=self.unique_key,
            timeout_ms=fields.timeout_ms(self.timeout),
            retry=self.retries.policy() if self.retries else None,
            id=self.uuid,
        )

    def _job_type(self) -> str:
        given = self.job_type_uuid if self.job_type is None else self.job_type
        if given is None:
            raise InvalidInput("job_type", "is missing; name the job type to run")
        if self.job_type is not None and self.job_type_uuid is not None:
            raise InvalidInput("job_type_uuid", "give it or job_type, and not both")
        return given


class NewJobs(Struct, frozen=True, forbid_unknown_fields=True):
    """Jobs to be accepted together."""

    jobs: Annotated[list[NewJob], Meta(min_length=1, max_length=MAX_BULK)]


class Enqueued(Struct, frozen=True, kw_only=True):
    """The surviving job, and whether it is a new one."""

    status: str = "ok"
    uuid: str
    is_new: bool


class EnqueuedOne(Struct, frozen=True):
    uuid: str
    is_new: bool


class EnqueuedMany(Struct, frozen=True):
    """One answer per job, in order."""

    status: str
    jobs: list[EnqueuedOne]


class JobListQuery(JobFilter, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Which jobs to list."""

    limit: Annotated[int, Meta(ge=1, le=1000)] = 100
    cursor: fields.Cursor | None = None


class Cancelled(Struct, frozen=True, kw_only=True):
    """`cancelled`: it waited and now is; `requested`: it runs, and its node is told."""

    status: str = "ok"
    uuid: str
    answer: CancelAnswer


@routes.post("/api/jobs", needs=Scope.JOBS_WRITE, body=NewJob, answer=Enqueued, errors=(404,))
async def enqueue_job(api: Api, call: Call[NewJob, None]) -> Enqueued:
    """Enqueue a job.

    Any node of its node type may run it. While a live job has the same unique key, its uuid is the answer.
    """
    (admission,) = await api.batcher.enqueue([call.body.request()], by=call.caller)
    return Enqueued(uuid=admission.job_id, is_new=admission.is_new)


@routes.post(
    "/api/jobs/bulk",
    needs=Scope.JOBS_WRITE,
    body=NewJobs,
    answer=EnqueuedMany,
    errors=(404,),
    body_limit=MAX_BULK_BYTES,
)
def enqueue_jobs(api: Api, call: Call[NewJobs, None]) -> EnqueuedMany:
    """Enqueue up to 10,000 jobs: all of them or, if one is bad, none.

    The error names the number of the bad one, as in `jobs[17].priority`.
    """
    requests = [_numbered(one, number) for number, one in enumerate(call.body.jobs)]
    admissions = api.engine.intake.enqueue(requests, by=call.caller, named="jobs")
    return EnqueuedMany("ok", [EnqueuedOne(one.job_id, one.is_new) for one in admissions])


def _numbered(job: NewJob, number: int) -> JobRequest:
    try:
        return job.request()
    except InvalidInput as error:
        raise InvalidInput(f"jobs[{number}].{error.field}", error.reason) from None


@routes.get("/api/jobs", needs=Scope.JOBS_READ, query=JobListQuery, answer=JobList, errors=(404,))
def list_jobs(api: Api, call: Call[None, JobListQuery]) -> JobList:
    """List jobs: waiting ones in the order in which they will run, then running ones, then the latest that ended."""
    query = call.query
    return job_page(api, job_query(api, query), limit=query.limit, cursor=query.cursor or None)


@routes.get("/api/jobs/{uuid}", needs=Scope.JOBS_READ, answer=JobShape, errors=(404,))
def show_job(api: Api, call: Call[None, None]) -> JobShape:
    """One job, whatever its state."""
    return api.describe([api.engine.jobs.find(call.path["uuid"])])[0]


@routes.get("/api/jobs/{uuid}/why", needs=Scope.JOBS_READ, answer=WhyShape, errors=(404,))
def why_job(api: Api, call: Call[None, None]) -> WhyShape:
    """Why a job does not run yet, or what it does instead."""
    return why_shape(api.engine.why.job(call.path["uuid"]))


@routes.delete("/api/jobs/{uuid}", needs=Scope.JOBS_WRITE, answer=DoneTo, errors=(404, 409))
def delete_job(api: Api, call: Call[None, None]) -> DoneTo:
    """Forget an ended job with its log."""
    uuid = call.path["uuid"]
    api.engine.jobs.delete(uuid)
    return DoneTo(uuid=uuid)


@routes.post("/api/jobs/{uuid}/cancel", needs=Scope.JOBS_WRITE, answer=Cancelled, errors=(404, 409))
def cancel_job(api: Api, call: Call[None, None]) -> Cancelled:
    """Cancel a job. A waiting one is cancelled at once; of a running one its node is told, which ends it."""
    uuid = call.path["uuid"]
    return Cancelled(uuid=uuid, answer=api.engine.jobs.cancel(uuid))


@routes.post("/api/jobs/{uuid}/retry", needs=Scope.JOBS_WRITE, answer=DoneTo, errors=(404, 409))
def retry_job(api: Api, call: Call[None, None]) -> DoneTo:
    """Bring a failed or cancelled job back into its queue, as new."""
    uuid = call.path["uuid"]
    api.engine.jobs.retry(uuid)
    return DoneTo(uuid=uuid)
