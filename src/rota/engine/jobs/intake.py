"""The door through which people and programs hand jobs in: their requests are checked and settled here."""

from collections.abc import Sequence
from typing import TypeVar

import msgspec
from msgspec import Struct

from rota.clock import Clock
from rota.engine.access.keys.access import Caller
from rota.engine.access.keys.rights import check_may_enqueue, told_to
from rota.engine.definitions.definitions import Definitions
from rota.engine.jobs.flow_queues import FlowQueues
from rota.engine.jobs.spec import make_spec
from rota.errors import InvalidInput, NotAllowed, NotFound
from rota.model.flows.flow import Flow
from rota.model.ids import check_id, new_id
from rota.model.job import MAX_PRIORITY, Cause, JobSpec
from rota.model.job_type import MAX_TIMEOUT_MS, JobType, Unique, check_unique_key
from rota.model.limits import MAX_PAYLOAD_BYTES, check_payload, check_range, encode_json
from rota.model.runs.retry import RetryPolicy
from rota.model.triggers.durations import check_duration
from rota.store.contract.jobs import Admission
from rota.store.contract.store import Store

MAX_DELAY_MS = 10 * 365 * 24 * 3600 * 1000
MAX_INSTANT = 4_102_444_800_000
"""The year 2100; a rank holds instants until 2109."""
_MAX_PART_BYTES = 4 * 1024
"""Of the small parts of a request as JSON: its key, its policy, its cause."""

Part = TypeVar("Part", RetryPolicy, Cause)


class JobRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A request for a job. Only the job type, by name or uuid, is needed."""

    job_type: str
    arguments: dict[str, object] = {}
    priority: int = 0
    """Higher runs first."""
    run_at: int | None = None
    """Not before this instant."""
    delay_ms: int | None = None
    """Not before this many milliseconds have passed."""
    unique_key: str | None = None
    """While a live job has this key, its id is the answer and no other is made."""
    timeout_ms: int | None = None
    retry: RetryPolicy | None = None
    node_type: str | None = None
    """The queue, by its node type's name or uuid, instead of the job type's own."""
    expires_at: int | None = None
    """Not to be begun at this instant or later."""
    expires_ms: int | None = None
    """Not to be begun when this many milliseconds have passed."""
    cause: Cause | None = None
    flow: Flow | None = None
    """The flow that it is part of."""
    id: str | None = None
    """The caller's own id: handing the same job in again makes no second one."""


class Intake:
    """Turns requests into jobs."""

    def __init__(self, store: Store, definitions: Definitions, clock: Clock) -> None:
        self._store = store
        self._definitions = definitions
        self._clock = clock
        self.flow_queues = FlowQueues(store)

    def enqueue(
        self, requests: Sequence[JobRequest], *, by: Caller | None = None, named: str | None = None
    ) -> list[Admission]:
        """Accept jobs: all of them or, if one request is bad, none. One answer per request, in order. `by` is whoever
        asks, and gets only what they may have made. With `named`, an error says which request it is about:
        `jobs[17].priority`."""
        now = self._clock.now()
        return self._store.enqueue_jobs(self._make_specs(requests, now, by, named), now=now)

    def enqueue_within(
        self, connection: object, requests: Sequence[JobRequest], *, named: str | None = None
    ) -> list[Admission]:
        """The same, as part of a transaction of the caller's own connection to the database that holds the store."""
        now = self._clock.now()
        specs = self._make_specs(requests, now, None, named)
        return self._store.enqueue_jobs_within(connection, specs, now=now)

    def _make_specs(
        self, requests: Sequence[JobRequest], now: int, by: Caller | None, named: str | None
    ) -> list[JobSpec]:
        if named is None:
            return [self.make_spec(request, now, by) for request in requests]
        return self._make_specs_named(requests, now, by, named)

    def _make_specs_named(
        self, requests: Sequence[JobRequest], now: int, by: Caller | None, named: str
    ) -> list[JobSpec]:
        specs: list[JobSpec] = []
        try:
            for request in requests:
                specs.append(self.make_spec(request, now, by))  # one by one: an error is about the one that is missing
        except InvalidInput as error:
            raise InvalidInput(f"{named}[{len(specs)}].{error.field}", error.reason) from None
        except NotAllowed as error:
            raise NotAllowed(f"{named}[{len(specs)}]: {error}") from None
        except NotFound as error:
            raise NotFound(error.kind, error.name, f"named by {named}[{len(specs)}]") from None
        return specs

    def is_known(self, request: JobRequest) -> bool:
        """Whether `make_spec` needs nothing of the store."""
        return self._definitions.known_queue(request.job_type) is not None

    def make_spec(self, request: JobRequest, now: int, by: Caller | None = None) -> JobSpec:
        """Check a request and settle what it leaves open."""
        job_type = self._definitions.job_type(request.job_type)
        check_may_enqueue(by, job_type, request.arguments)
        try:
            queue = self._definitions.node_type(request.node_type or job_type.node_type).uuid
        except NotFound as error:
            raise InvalidInput("job_type", f"{job_type.name!r} cannot run: {told_to(by, error)}") from None
        if request.node_type is not None:
            self._check_other_queue(job_type, queue)
        check_payload("arguments", request.arguments)
        return make_spec(
            job_type,
            id=check_id("id", request.id) if request.id is not None else new_id(now),
            queue=queue,
            enqueued_at=now,
            arguments=request.arguments,
            priority=check_range("priority", request.priority, -MAX_PRIORITY, MAX_PRIORITY),
            run_at=_run_at(request, now),
            unique_key=_unique_key(request),
            timeout_ms=_timeout(request),
            retry=_retry(request),
            expires_at=None if request.expires_ms is request.expires_at is None else _expires_at(request, now),
            cause=_cause(request),
            flow=None if request.flow is None else self._checked_flow(request.flow, job_type, queue),
            has_own_id=request.id is not None,
        )

    def _check_other_queue(self, job_type: JobType, queue: str) -> None:
        """Locks, unique keys and rates hold within a queue: in two of them, their jobs would run side by side."""
        if job_type.unique is Unique.NONE and job_type.rate is None:
            return
        own = self._definitions.known_node_type(job_type.node_type)
        if own is None or own.uuid != queue:
            rule = "has a rate" if job_type.unique is Unique.NONE else f"is unique {job_type.unique}"
            raise InvalidInput(
                "node_type",
                f"{job_type.name!r} takes no jobs for another queue than its own, {job_type.node_type!r}, because it "
                f"{rule}, which holds within one queue; define a job type for that queue",
            )

    def _refuse_shared_jobs(self, name: str) -> None:
        """A flow knows its jobs by ids that are settled before; another's job in their place would never be found."""
        found = self._definitions.known_job_type(name)
        if found is not None and found.unique is Unique.WHILE_PENDING:
            raise InvalidInput(
                "flow", f"has jobs of {found.name!r}, which is unique while pending; use another job type"
            )

    def _checked_flow(self, flow: Flow, job_type: JobType, queue: str) -> Flow:
        """What follows is kept with each job of the stage before it, so all of it together must be small."""
        calls = [call for stage in flow.rest for call in stage.calls]
        for name in {job_type.name, *(call.job_type for call in calls)}:
            self._refuse_shared_jobs(name)
        size = sum(len(check_payload(f"{call.job_type}.arguments", call.arguments)) for call in calls)
        if size > MAX_PAYLOAD_BYTES:
            raise InvalidInput("flow", f"has {size} bytes of arguments in later stages, more than {MAX_PAYLOAD_BYTES}")
        self.flow_queues.note(queue)
        return flow


def _run_at(request: JobRequest, now: int) -> int | None:
    if request.delay_ms is not None:
        if request.run_at is not None:
            raise InvalidInput("run_at", "cannot stand beside a delay; give one of them")
        delay_ms = check_duration("delay", request.delay_ms, 0, MAX_DELAY_MS)
        return now + delay_ms if delay_ms else None
    if request.run_at is None:
        return None
    try:
        return check_range("run_at", request.run_at, 0, MAX_INSTANT)
    except InvalidInput:
        raise InvalidInput("run_at", "must be epoch milliseconds, a whole number, from 1970 to 2100") from None


def _expires_at(request: JobRequest, now: int) -> int | None:
    if request.expires_ms is not None:
        if request.expires_at is not None:
            raise InvalidInput("expires_at", "cannot stand beside expires_ms; give one of them")
        return now + check_duration("expires", request.expires_ms, 1, MAX_DELAY_MS)
    if request.expires_at is not None:
        check_range("expires_at", request.expires_at, 0, MAX_INSTANT)
    return request.expires_at


def _timeout(request: JobRequest) -> int | None:
    if request.timeout_ms is not None:
        check_duration("timeout", request.timeout_ms, 1, MAX_TIMEOUT_MS)
    return request.timeout_ms


def _unique_key(request: JobRequest) -> str | None:
    if request.unique_key is not None:
        encode_json("unique_key", request.unique_key, _MAX_PART_BYTES)
        check_unique_key("unique_key", request.unique_key)
    return request.unique_key


def _retry(request: JobRequest) -> RetryPolicy | None:
    if request.retry is not None:
        _check_shape("retry", request.retry).check("retry")
    return request.retry


def _cause(request: JobRequest) -> Cause | None:
    if request.cause is not None:
        _check_shape("cause", request.cause)
    return request.cause


def _check_shape(field: str, part: Part) -> Part:
    """Structs made in Python do not look at their values: refuse what no store could give back."""
    encoded = encode_json(field, msgspec.structs.asdict(part), _MAX_PART_BYTES)
    try:
        return msgspec.json.decode(encoded, type=type(part))
    except msgspec.ValidationError as error:
        reason, _, place = str(error).partition(" - at `$")
        raise InvalidInput(field + place.rstrip("`"), reason) from None
