"""A queue: `Queue("mail", connection=Redis()).enqueue(send, to="ada")`."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from rota.errors import InvalidInput, NotFound
from rota.model.job import JobState
from rota.model.limits import check_name
from rota.moving.common.identity import job_id_of
from rota.moving.common.imports import function_of
from rota.moving.common.refusing import Options, refuse_value
from rota.moving.rq.apps import app_for
from rota.moving.rq.exceptions import DuplicateJobError, NoSuchJobError
from rota.moving.rq.job import Job
from rota.moving.rq.retry import Retry
from rota.sdk.tasks.app import Rota
from rota.sdk.tasks.handle import Handle
from rota.sdk.tasks.options import CallOptions
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
    carried=("job_timeout", "timeout", "ttl", "job_id", "at_front", "retry", "unique"),
    harmless=("result_ttl", "failure_ttl", "description"),
    instead={
        "depends_on": "make a flow of the functions: first.step(...).then(second), see docs/python.md",
        "meta": "give what the function needs as an argument; rota.current_job().progress(...) tells how far it is",
        "repeat": "give the task a schedule: @app.task(every=...)",
        "pipeline": "enqueue it by itself, or many of one task with task.map(...)",
        **dict.fromkeys(("on_success", "on_failure", "on_stopped", "webhooks"), _EVENTS),
    },
)
_ALL = (*_CALL.carried, *_CALL.harmless, *_CALL.instead)
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
        self._app = app_for(connection)

    @property
    def __rota_app__(self) -> Rota:
        """What `rota worker` runs: it finds the functions by their names."""
        return self._app.rota

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
        options = {name: kwargs.pop(name) for name in _ALL if name in kwargs}
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
        name = options.get("job_id")
        fields = {**when, "queue": self.name, **self._call_options(options)}
        if name is not None:
            fields["id"] = job_id_of("job_id", name)
        enqueueing = self._app.task_of(function_of("f", f)).options(**fields)  # type: ignore[arg-type]
        handle = enqueueing.enqueue(*args, **kwargs)
        if name is not None and not handle.is_new:
            if options.get("unique"):
                raise DuplicateJobError(f"job {name!r} is there already")
            if self._forget_ended(handle):
                enqueueing.enqueue(*args, **kwargs)
        return Job(self._app, name or handle.id)

    def _forget_ended(self, handle: Handle[Any]) -> bool:
        """As in RQ, an id that an ended job has is free: the new job takes the place of the old one."""
        if not handle.status.is_final:
            return False
        self._app.rota.engine.jobs.delete(handle.id)
        return True

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

    def fetch_job(self, job_id: str) -> Job | None:
        """The job with this id, if there is one."""
        try:
            return Job(self._app, job_id)
        except NoSuchJobError:
            return None

    @property
    def job_ids(self) -> list[str]:
        """Of the jobs that wait for a worker, the first ones first: 1,000 at most."""
        found = self._uuid()
        if found is None:
            return []
        query = JobQuery(queue=found, states=frozenset({JobState.QUEUED}))
        jobs = self._app.rota.engine.store.list_jobs(query, limit=1_000).jobs
        return [job.id for job in sorted(jobs, key=lambda job: (-job.spec.priority, job.available_at, job.id))]

    @property
    def count(self) -> int:
        return len(self)

    def __len__(self) -> int:
        """How many jobs wait for a worker."""
        found = self._uuid()
        counts = None if found is None else self._app.rota.engine.store.count_jobs(found)
        return 0 if counts is None else counts.get(JobState.QUEUED, 0)

    def is_empty(self) -> bool:
        return len(self) == 0

    def _uuid(self) -> str | None:
        try:
            return self._app.rota.engine.definitions.node_type(self.name).uuid
        except NotFound:
            return None


def _policy_of(retry: object) -> object:
    if isinstance(retry, int) and not isinstance(retry, bool):
        retry = Retry(retry)
    if not isinstance(retry, Retry):
        raise InvalidInput("retry", f"must be a Retry of rota.moving.rq, got {retry!r:.100}")
    return retry.policy
