"""A task: a function that can be called as ever, and that can be handed to a worker instead."""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from functools import cache, partial, update_wrapper
from typing import TYPE_CHECKING, Generic, ParamSpec, TypeVar, Unpack

from rota.errors import InvalidInput
from rota.model.limits import check_name
from rota.sdk.tasks.flow import Call, CanFollow, Flow, flow_of
from rota.sdk.tasks.handle import Handle
from rota.sdk.tasks.options import CallOptions, Duration, read_duration, read_instant, read_retries, refuse_unknown
from rota.sdk.tasks.parameters import Parameters
from rota.sdk.tasks.plan import Plan
from rota.sdk.tasks.registry import TaskRegistry

if TYPE_CHECKING:
    from rota.engine.jobs.intake import JobRequest
    from rota.store.contract.jobs import Admission

Submit = Callable[["list[JobRequest]", str | None], "list[Admission]"]
P = ParamSpec("P")
C = TypeVar("C")
"""What a call of the function gives: of an `async def` something to await."""
R = TypeVar("R")
"""What its job results in."""
T = TypeVar("T")


class Enqueueing(Generic[P, R]):
    """The ways to have a task run by a worker."""

    def __init__(
        self,
        registry: TaskRegistry,
        name: str,
        parameters: Parameters,
        fields: Mapping[str, object],
        within: Submit | None = None,
    ) -> None:
        self.name = name
        """Of its job type."""
        self._registry = registry
        self._parameters = parameters
        self._fields = fields
        self._within = within
        """How jobs are handed in, if that is part of something of the program's own."""

    def enqueue(self, *args: P.args, **kwargs: P.kwargs) -> Handle[R]:
        """Make a job of it. Arguments that the function does not take, or JSON cannot carry, are `InvalidInput`."""
        return self._submit([self.request(args, kwargs)])[0]

    def delay(self, *args: P.args, **kwargs: P.kwargs) -> Handle[R]:
        """The same as `enqueue`."""
        return self.enqueue(*args, **kwargs)

    async def aenqueue(self, *args: P.args, **kwargs: P.kwargs) -> Handle[R]:
        """The same as `enqueue`, without blocking the event loop meanwhile."""
        import asyncio

        if self._within is not None:  # a connection is for the thread that opened it
            return self.enqueue(*args, **kwargs)
        return await asyncio.to_thread(self.enqueue, *args, **kwargs)

    def map(self, calls: Iterable[tuple[object, ...] | Mapping[str, object]]) -> list[Handle[R]]:
        """Make many jobs in one step: all of them or, if one is bad, none. Each call is a tuple of arguments, or a dict
        of arguments by name."""
        request, name, fields = _job_request(), self.name, self._fields
        requests = [
            request(job_type=name, arguments=self._mapped(number, call), **fields)  # type: ignore[arg-type]
            for number, call in enumerate(calls)
        ]
        return self._submit(requests, named="calls")

    def _mapped(self, number: int, call: tuple[object, ...] | Mapping[str, object]) -> dict[str, object]:
        try:
            if isinstance(call, tuple):
                return self._parameters.arguments(call, {})
            if isinstance(call, dict | Mapping):  # a dict is found without asking the slow abstract class
                return self._parameters.arguments((), call)
        except InvalidInput as error:
            raise InvalidInput(f"calls[{number}].{error.field}", error.reason) from None
        raise InvalidInput(f"calls[{number}]", f"must be a tuple or a dict of arguments, got {call!r:.100}")

    def request(self, args: tuple[object, ...], kwargs: Mapping[str, object]) -> "JobRequest":
        """What `enqueue` hands in, for whoever does so later."""
        arguments = self._parameters.arguments(args, kwargs)
        return _job_request()(job_type=self.name, arguments=arguments, **self._fields)  # type: ignore[arg-type]

    def _submit(self, requests: "list[JobRequest]", named: str | None = None) -> list[Handle[R]]:
        if self._within is None and "node_type" in self._fields:
            self._registry.ensure_queue(str(self._fields["node_type"]))
        answers = (self._within or self._registry.submit)(requests, named)
        connection = self._registry.connection
        return [Handle(connection, one.job_id, one.is_new) for one in answers]


class TaskFunction(Enqueueing[P, R], Generic[P, C, R]):
    """What `@app.task` makes of a function. Calling it calls the function, here and now."""

    __name__: str

    def __init__(self, registry: TaskRegistry, function: Callable[P, C], plan: Plan, parameters: Parameters) -> None:
        update_wrapper(self, function)  # first: what the function has as attributes must not replace those of the task
        super().__init__(registry, plan.name, parameters, {"priority": plan.priority} if plan.priority else {})
        self.__rota_function__ = function

    def step(self, *args: object, **kwargs: object) -> Flow[R]:
        """This task as a part of a flow, with all of its arguments or, where it gets the result of what is before it,
        all but one: `fetch.step(url).then(parse).enqueue()`."""
        priority = self._fields.get("priority", 0)
        assert isinstance(priority, int)
        return flow_of(
            Call(
                registry=self._registry,
                name=self.name,
                parameters=self._parameters,
                arguments=self._parameters.some_arguments(args, kwargs),
                priority=priority,
            )
        )

    def arguments(self, args: tuple[object, ...], kwargs: Mapping[str, object]) -> dict[str, object]:
        """The arguments of a call by name, as jobs carry them; refused if the function does not take them."""
        return self._parameters.arguments(args, kwargs)

    def as_flow(self) -> Flow[R]:
        return self.step()

    def then(self, other: CanFollow[T], *, although_failed: bool = False) -> Flow[T]:
        """This task without arguments, and then another: see `Flow.then`."""
        return self.step().then(other, although_failed=although_failed)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> C:
        return self.__rota_function__(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<task {self.name!r}>"

    def options(self, **options: Unpack[CallOptions]) -> Enqueueing[P, R]:
        """The same task, for jobs that differ in something: `report.options(priority=5, delay="5m").enqueue()`."""
        fields = {**self._fields, **_fields(options)}
        return Enqueueing(self._registry, self.name, self._parameters, fields, _within(self._registry, options))


def function_of(function: Callable[P, C]) -> Callable[P, C]:
    """The function of a task; any other is its own."""
    return function.__rota_function__ if isinstance(function, TaskFunction) else function


def _expiry(value: Duration | datetime) -> dict[str, object]:
    if isinstance(value, datetime):
        return {"expires_at": read_instant("expires", value)}
    return {"expires_ms": read_duration("expires", value)}


@cache
def _job_request() -> "type[JobRequest]":
    """Imported with the first job: the engine takes long to load, and an import costs something at each call."""
    from rota.engine.jobs.intake import JobRequest

    return JobRequest


def _within(registry: TaskRegistry, options: CallOptions) -> Submit | None:
    """How jobs with these options are handed in, if not as always."""
    if "connection" in options:
        return partial(registry.submit_within, options["connection"])
    if "outbox" in options:
        return partial(registry.submit_to_outbox, options["outbox"])
    return None


def _fields(options: CallOptions) -> dict[str, object]:
    """The fields of a `JobRequest`; the engine checks those that are plain values."""
    refuse_unknown(options, CallOptions)
    fields: dict[str, object] = {name: options[name] for name in ("priority", "unique_key", "id") if name in options}
    if "queue" in options:
        fields["node_type"] = check_name("queue", options["queue"])
    if "expires" in options:
        fields |= _expiry(options["expires"])
    if "delay" in options:
        fields["delay_ms"] = read_duration("delay", options["delay"])
    if "run_at" in options:
        fields["run_at"] = read_instant("run_at", options["run_at"])
    if "timeout" in options:
        fields["timeout_ms"] = read_duration("timeout", options["timeout"])
    if "retries" in options:
        fields["retry"] = read_retries("retries", options["retries"])
    return fields
