"""Flows: tasks that follow each other and hand their results on.

fetch.step(url).then(parse).then(save).enqueue()
group([count.step(page) for page in pages]).then(add_up).enqueue()
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar, overload

from msgspec import Struct

from rota.errors import InvalidInput
from rota.model.flows.flow import MOST_CALLS, FlowCall, Stage
from rota.model.flows.flow import Flow as JobFlow
from rota.model.ids import new_id
from rota.sdk.tasks.flow_handle import FlowHandle
from rota.sdk.tasks.parameters import Parameters
from rota.sdk.tasks.registry import TaskRegistry

if TYPE_CHECKING:
    from rota.engine.jobs.intake import JobRequest

T = TypeVar("T")
R_co = TypeVar("R_co", covariant=True)
"""What a flow results in: what its last stage does."""


class Call(Struct, frozen=True, kw_only=True):
    """A task with some of its arguments."""

    registry: TaskRegistry
    name: str
    parameters: Parameters
    arguments: Mapping[str, object]
    priority: int = 0

    def complete(self) -> dict[str, object]:
        """Its arguments, none of which may be missing."""
        return self.parameters.arguments((), self.arguments)

    def following(self) -> FlowCall:
        """The same as a job that gets the result of those before it, as the first argument that it does not have."""
        into = self.parameters.first_free(self.arguments)
        self.parameters.arguments((), {**self.arguments, **({into: None} if into else {})})
        return FlowCall(job_type=self.name, arguments=dict(self.arguments), into=into, priority=self.priority)


class Calls(Struct, frozen=True):
    """Tasks that run beside each other."""

    calls: tuple[Call, ...]
    is_group: bool = False
    although_failed: bool = False

    def stage(self) -> Stage:
        following = tuple(one.following() for one in self.calls)
        return Stage(calls=following, is_group=self.is_group, although_failed=self.although_failed)


class CanFollow(Protocol[R_co]):
    """A task, or a flow."""

    def as_flow(self) -> "Flow[R_co]": ...


class Flow(Generic[R_co]):
    """Tasks one after the other; a value, which `then` makes a longer one of."""

    def __init__(self, stages: Sequence[Calls]) -> None:
        self.stages = tuple(stages)
        count = sum(len(one.calls) for one in self.stages)
        if not 0 < count <= MOST_CALLS:
            raise InvalidInput("flow", f"must have 1 to {MOST_CALLS} jobs, got {count}")

    def as_flow(self) -> "Flow[R_co]":
        return self

    def then(self, other: CanFollow[T], *, although_failed: bool = False) -> "Flow[T]":
        """This, and then another: a task, a step or a group. It begins when all before it have ended, and gets their
        result as the first argument that it does not have: of a group a list. If one of them failed or was cancelled it
        does not begin, unless `although_failed`: then it gets None for each of those."""
        first, *rest = other.as_flow().stages
        first = Calls(first.calls, first.is_group, although_failed)
        first.stage()  # what does not fit is told here
        return Flow([*self.stages, first, *rest])

    def enqueue(self) -> FlowHandle[R_co]:
        """Make the jobs of the first stage; the others follow."""
        registry = self.stages[0].calls[0].registry
        flow = self._made(registry.connection.engine.clock.now())
        registry.submit([self._request(flow, number, one) for number, one in enumerate(self.stages[0].calls)])
        return FlowHandle(registry.connection, flow)

    async def aenqueue(self) -> FlowHandle[R_co]:
        """The same as `enqueue`, without blocking the event loop meanwhile."""
        import asyncio

        return await asyncio.to_thread(self.enqueue)

    def _made(self, now: int) -> JobFlow:
        first, *rest = self.stages
        return JobFlow(
            id=new_id(now),
            made_at=now,
            count=len(first.calls),
            is_group=first.is_group,
            rest=tuple(one.stage() for one in rest),
        )

    def _request(self, flow: JobFlow, number: int, call: Call) -> "JobRequest":
        from rota.engine.jobs.intake import JobRequest

        return JobRequest(
            id=flow.job_id(number),
            job_type=call.name,
            arguments=call.complete(),
            priority=call.priority,
            flow=flow,
        )


@overload
def group(steps: Iterable[CanFollow[T]]) -> Flow[list[T]]: ...


@overload
# In a list of tasks and steps mypy finds nothing in common but object; it is matched by this one, whatever mypy says.
def group(steps: Iterable[CanFollow[object]]) -> Flow[list[object]]: ...  # type: ignore[overload-cannot-match]


def group(steps: Iterable[CanFollow[Any]]) -> Flow[list[Any]]:
    """Tasks that run beside each other: `group([count.step(1), count.step(2)])`. Their result is a list, in order."""
    found = [one.as_flow().stages for one in steps]
    if any(len(stages) != 1 or stages[0].is_group for stages in found):
        raise InvalidInput("group", "takes single steps, such as task.step(1); what follows them goes behind the group")
    return Flow([Calls(tuple(stages[0].calls[0] for stages in found), is_group=True)])


def flow_of(call: Call) -> Flow[Any]:
    """One call, which results in what its task does."""
    return Flow([Calls((call,))])
