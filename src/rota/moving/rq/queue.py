"""A queue: `Queue("mail", connection=Redis()).enqueue(send, to="ada")`."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from msgspec import structs

from rota.engine.jobs.intake import JobRequest
from rota.errors import InvalidInput, NotFound
from rota.model.ids import new_id
from rota.model.job import JobState
from rota.model.limits import check_name
from rota.moving.common.identity import job_id_of
from rota.moving.common.imports import function_of
from rota.moving.common.refusing import Options, refuse_value
from rota.moving.rq.apps import app_for
from rota.moving.rq.dependencies import gate_of, make_gate, may_begin
from rota.moving.rq.exceptions import DuplicateJobError, NoSuchJobError
from rota.moving.rq.extras import carried, make_extras
from rota.moving.rq.job import Dependency, Job
from rota.moving.rq.registry import (
    CanceledJobRegistry,
    DeferredJobRegistry,
    FailedJobRegistry,
    FinishedJobRegistry,
    ScheduledJobRegistry,
    StartedJobRegistry,
)
from rota.moving.rq.retry import Retry
from rota.moving.rq.running import known_task
from rota.sdk.tasks.app import Rota
from rota.sdk.tasks.options import CallOptions
from rota.sdk.tasks.task import Enqueueing
from rota.store.contract.jobs import JobQuery

DEFAULT_TIMEOUT_S = 180
"""Of a job whose queue and call say nothing, as in RQ."""
_EVENTS = "a configuration can wait for the end of a job type: docs/events.md"
_QUEUE = Options(
    of="Queue",
    carried=("name", "connection", "default_timeout", "is_async"),
    harmless=("death_penalty_class",),
    instead={"job_class": "leave it out", "serializer": "arguments and results are JSON; leave it out"},
)
_CALL = Options(
    of="enqueue",
    carried=(
        "job_timeout",
        "timeout",
        "ttl",
        "job_id",
        "at_front",
        "retry",
        "unique",
        "depends_on",
        "on_success",
        "on_failure",
        "meta",
    ),
    harmless=("result_ttl", "failure_ttl", "description"),
    instead={
        "repeat": "give the task a schedule: @app.task(every=...)",
        "pipeline": "enqueue it by itself, or many of one task with task.map(...)",
        **dict.fromkeys(("on_stopped", "webhooks"), _EVENTS),
    },
)
_AMONG_ARGUMENTS = {*_CALL.carried, *_CALL.harmless, *_CALL.instead} - {"timeout"}
"""As in RQ, `timeout` is one of `enqueue_call`, and to `enqueue` an argument of the function."""
_AT_FRONT = 1


class Queue:
    """A queue of a store. `rota worker module:queue --type NAME` runs its jobs."""

    def __init__(
        self,
        name: str = "default",
        connection: object = None,
        default_timeout: int | str | None = None,
        is_async: bool = True,
        **options: object,
    ) -> None:
        _QUEUE.check(options)
        refuse_value("is_async", is_async, allowed=(True,), instead="test with rota.testing, which goes the real way")
        self.name = check_name("name", name)
        self._default_timeout = default_timeout
        self.app = app_for(connection)

    @property
    def __rota_app__(self) -> Rota:
        """What `rota worker` runs: it finds the functions by their names."""
        return self.app.rota

    def __repr__(self) -> str:
        return f"Queue({self.name!r})"

    # -- enqueueing ------------------------------------------------------------------------------------------------

    def enqueue(self, f: Callable[..., object] | str, *args: object, **kwargs: Any) -> Job:
        """Make a job of a function. RQ's own options may be among the arguments, by their names."""
        return self._enqueue(f, args, kwargs, {})

    def enqueue_in(self, time_delta: timedelta, func: Callable[..., object] | str, *args: object, **kwargs: Any) -> Job:
        """The same, not before so long."""
        return self._enqueue(func, args, kwargs, {"delay": time_delta})

    def enqueue_at(self, datetime: datetime, f: Callable[..., object] | str, *args: object, **kwargs: Any) -> Job:
        """The same, not before this time; one without a zone is in that of the machine, as in RQ."""
        return self._enqueue(f, args, kwargs, {"run_at": datetime.astimezone()})

    def enqueue_call(
        self,
        func: Callable[..., object] | str,
        args: Sequence[object] | None = None,
        kwargs: Mapping[str, object] | None = None,
        **options: Any,
    ) -> Job:
        """The same, with arguments and options apart."""
        _CALL.check(options)
        return self._submit(func, tuple(args or ()), dict(kwargs or {}), options, {})

    def _enqueue(self, f: object, args: tuple[object, ...], kwargs: dict[str, Any], when: dict[str, object]) -> Job:
        options = {name: kwargs.pop(name) for name in _AMONG_ARGUMENTS if name in kwargs}
        _CALL.check([name for name, value in options.items() if value is not None])
        if ("args" in kwargs or "kwargs" in kwargs) and not args:
            args, kwargs = tuple(kwargs.get("args") or ()), dict(kwargs.get("kwargs") or {})
        return self._submit(f, args, kwargs, options, when)

    def _submit(
        self,
        f: object,
        args: tuple[object, ...],
        kwargs: Mapping[str, object],
        options: Mapping[str, Any],
        when: Mapping[str, object],
    ) -> Job:
        name, known = options.get("job_id"), known_task(self.app, function_of("f", f))
        fields = {**when, "queue": self.name, **self._call_options(options)}
        depends_on = _dependency(options.get("depends_on"))
        extras = make_extras(options, after=[] if depends_on is None else depends_on.job_ids())
        arguments = known.parameters.arguments(args, kwargs) | carried(extras)
        waits_for = None if depends_on is None or self._may_begin(depends_on) else depends_on
        if name is not None:
            fields["id"] = job_id_of("job_id", name)
        enqueueing: Enqueueing[..., Any] = known.task.options(**fields)  # type: ignore[arg-type]
        if name is not None and not self._make_room(str(fields["id"]), unique=bool(options.get("unique"))):
            return self._living(name, options)
        if waits_for is not None:
            return self._defer(enqueueing.request((), arguments), waits_for, name)
        handle = enqueueing.enqueue(**arguments)
        if name is not None and not handle.is_new:
            return self._living(name, options)
        return Job(self.app, name or handle.id)

    def _may_begin(self, depends_on: Dependency) -> bool:
        try:
            return may_begin(self.app, depends_on.job_ids(), although_failed=depends_on.allow_failure)
        except NotFound as error:
            raise NoSuchJobError(f"depends_on: {error}") from None

    def _defer(self, request: JobRequest, depends_on: Dependency, name: str | None) -> Job:
        engine = self.app.rota.engine
        settled = structs.replace(
            request,
            id=request.id or new_id(engine.clock.now()),
            priority=_AT_FRONT if depends_on.enqueue_at_front else request.priority,
        )
        make_gate(self.app, settled, depends_on.job_ids(), although_failed=depends_on.allow_failure)
        return Job(self.app, name or str(settled.id))

    def _make_room(self, job_id: str, *, unique: bool) -> bool:
        """As in RQ, a job that has ended gives way to a new one with its id, unless that is to be the only one; and so
        does its gate."""
        jobs = self.app.rota.engine.jobs
        ended = []
        for one in (gate_of(job_id), job_id):  # in this order: a gate makes its job before it ends
            try:
                if not jobs.find(one).state.is_final or unique:
                    return False
            except NotFound:
                continue
            ended.append(one)
        for one in ended:
            jobs.delete(one)
        return True

    def _living(self, name: str, options: Mapping[str, Any]) -> Job:
        """The job that has this id already."""
        if options.get("unique"):
            raise DuplicateJobError(f"job {name!r} is there already")
        return Job(self.app, name)

    def _call_options(self, given: Mapping[str, Any]) -> CallOptions:
        options = {name: value for name, value in given.items() if value is not None}
        fields: dict[str, object] = {}
        timeout = options.get("job_timeout", options.get("timeout", self._default_timeout or DEFAULT_TIMEOUT_S))
        if timeout != -1:
            fields["timeout"] = timeout
        if "ttl" in options:
            fields["expires"] = options["ttl"]
        if options.get("at_front"):
            fields["priority"] = _AT_FRONT
        if "retry" in options:
            fields["retries"] = _policy_of(options["retry"])
        return fields  # type: ignore[return-value]

    # -- looking ---------------------------------------------------------------------------------------------------

    @property
    def started_job_registry(self) -> StartedJobRegistry:
        return StartedJobRegistry(queue=self)

    @property
    def finished_job_registry(self) -> FinishedJobRegistry:
        return FinishedJobRegistry(queue=self)

    @property
    def failed_job_registry(self) -> FailedJobRegistry:
        return FailedJobRegistry(queue=self)

    @property
    def scheduled_job_registry(self) -> ScheduledJobRegistry:
        return ScheduledJobRegistry(queue=self)

    @property
    def deferred_job_registry(self) -> DeferredJobRegistry:
        return DeferredJobRegistry(queue=self)

    @property
    def canceled_job_registry(self) -> CanceledJobRegistry:
        return CanceledJobRegistry(queue=self)

    def fetch_job(self, job_id: str) -> Job | None:
        """The job with this id, if there is one."""
        try:
            return Job(self.app, job_id)
        except NoSuchJobError:
            return None

    @property
    def job_ids(self) -> list[str]:
        """Of the jobs that wait for a worker, the first ones first: 1,000 at most."""
        found = self._uuid()
        if found is None:
            return []
        query = JobQuery(queue=found, states=frozenset({JobState.QUEUED}))
        jobs = self.app.rota.engine.store.list_jobs(query, limit=1_000).jobs
        return [job.id for job in sorted(jobs, key=lambda job: (-job.spec.priority, job.available_at, job.id))]

    @property
    def count(self) -> int:
        return len(self)

    def __len__(self) -> int:
        """How many jobs wait for a worker."""
        found = self._uuid()
        counts = None if found is None else self.app.rota.engine.store.count_jobs(found)
        return 0 if counts is None else counts.get(JobState.QUEUED, 0)

    def is_empty(self) -> bool:
        return len(self) == 0

    def _uuid(self) -> str | None:
        try:
            return self.app.rota.engine.definitions.node_type(self.name).uuid
        except NotFound:
            return None


def _dependency(given: object) -> Dependency | None:
    if given is None or isinstance(given, Dependency):
        return given
    return Dependency(given)  # type: ignore[arg-type]


def _policy_of(retry: object) -> object:
    if isinstance(retry, int) and not isinstance(retry, bool):
        retry = Retry(retry)
    if not isinstance(retry, Retry):
        raise InvalidInput("retry", f"must be a Retry of rota.moving.rq, got {retry!r:.100}")
    return retry.policy
