"""Messages, which are calls of actors, and what is made of several: groups and pipelines, as flows carry them."""

import inspect
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Generic, TypeVar

from rota.clock import SystemClock
from rota.errors import InvalidInput, JobFailed, NotFound
from rota.model.ids import new_id
from rota.moving.dramatiq.errors import ResultFailure, ResultMissing, ResultTimeout
from rota.moving.dramatiq.options import read_call
from rota.sdk.tasks.app import Rota
from rota.sdk.tasks.flow import Flow
from rota.sdk.tasks.flow import group as group_of
from rota.sdk.tasks.flow_handle import FlowHandle
from rota.sdk.tasks.handle import Handle
from rota.sdk.tasks.options import CallOptions
from rota.sdk.tasks.task import TaskFunction

R = TypeVar("R")
DEFAULT_TIMEOUT_MS = 10_000
"""Of a result that is waited for, as in Dramatiq."""


class Message(Generic[R]):
    """One call. Its id is that of its job."""

    def __init__(
        self,
        app: Rota,
        task: "TaskFunction[..., Any, R]",
        queue_name: str,
        args: tuple[object, ...],
        kwargs: Mapping[str, object],
        options: Mapping[str, Any],
        *,
        retrying: Mapping[str, Any],
    ) -> None:
        """`retrying` is what the actor says of retries."""
        self.app = app
        self._task = task
        self.queue_name = queue_name
        self.actor_name = task.name
        self.args = args
        self.kwargs = dict(kwargs)
        self.options = dict(options)
        self._fields = read_call(self.options, retrying)  # what is not carried is told here
        self.message_id = new_id(SystemClock().now())

    def __repr__(self) -> str:
        return f"<Message {self.message_id} of {self.actor_name}>"

    def enqueue(self, delay: object = None) -> "Message[R]":
        fields: CallOptions = {**self._fields, **read_call({"delay": delay}, {}), "id": self.message_id}
        self._task.options(**fields).enqueue(*self.args, **self.kwargs)
        return self

    def __or__(self, other: "Message[Any] | pipeline") -> "pipeline":
        return pipeline([self, other])

    def step(self) -> Flow[Any]:
        """The same as a part of a flow, in which the result of what comes before it is its next argument."""
        self._refuse_in_flow()
        if not self.options.get("pipe_ignore"):
            return self._task.step(*self.args, **self.kwargs)
        bound = inspect.signature(self._task.__rota_function__).bind(*self.args, **self.kwargs)
        bound.apply_defaults()  # what is left open would get the result of what comes before
        return self._task.step(*bound.args, **bound.kwargs)

    def _refuse_in_flow(self) -> None:
        for name in self._fields:
            raise InvalidInput(
                name, f"of {self.actor_name} is not carried in a group or pipeline; give it to the actor"
            )

    @property
    def handle(self) -> Handle[R]:
        """The same job as Rota's own programs have it."""
        return self.app.handle(self.message_id)

    def get_result(self, *, backend: object = None, block: bool = False, timeout: int | None = None) -> R:
        """What the actor returned. With `block` it is waited for, `timeout` milliseconds at most."""
        try:
            if not block and not self.handle.status.is_final:
                raise ResultMissing(f"{self!r} has not ended")
            wait_s = (DEFAULT_TIMEOUT_MS if timeout is None else timeout) / 1000
            return self.handle.get_when_made(wait_s)
        except NotFound:
            raise ResultMissing(f"{self!r} has not ended") from None
        except TimeoutError as error:
            raise ResultTimeout(str(error)) from None
        except JobFailed as failed:
            raise failure_of(failed) from failed


def failure_of(failed: JobFailed) -> ResultFailure:
    errors = failed.errors if isinstance(failed.errors, dict) else {}
    return ResultFailure(str(failed), str(errors.get("type", "")), str(errors.get("message", "")))


class _Composition:
    """Messages that become the jobs of one flow."""

    _handle: FlowHandle[Any] | None = None

    def _begin(self, flow: Flow[Any], messages: list[Message[Any]], delay: object) -> None:
        if delay is not None:
            raise InvalidInput("delay", "is not carried for a group or pipeline; send a single message with it")
        self._handle = flow.enqueue()
        jobs = [job for stage in self._handle.handles for job in stage]
        for message, job in zip(messages, jobs, strict=False):
            message.message_id = job.id

    def _wait(self, timeout: int | None) -> object:
        """Milliseconds."""
        if self._handle is None:
            raise ResultMissing("it was not run")
        try:
            return self._handle.get((DEFAULT_TIMEOUT_MS if timeout is None else timeout) / 1000)
        except TimeoutError as error:
            raise ResultTimeout(str(error)) from None
        except JobFailed as failed:
            raise failure_of(failed) from failed


class pipeline(_Composition):  # noqa: N801  Dramatiq's name
    """Messages one after the other; each gets the result of the one before as a further argument."""

    def __init__(self, children: "Iterable[Message[Any] | pipeline]") -> None:
        self.messages: list[Message[Any]] = []
        for child in children:
            self.messages += child.messages if isinstance(child, pipeline) else [child]
        if not self.messages:
            raise InvalidInput("pipeline", "needs at least one message")

    def __len__(self) -> int:
        return len(self.messages)

    def __or__(self, other: "Message[Any] | pipeline") -> "pipeline":
        return pipeline([self, other])

    def run(self, *, delay: object = None) -> "pipeline":
        first, *rest = [message.step() for message in self.messages]
        for step in rest:
            first = first.then(step)
        self._begin(first, self.messages, delay)
        return self

    @property
    def completed(self) -> bool:
        return self.completed_count == len(self)

    @property
    def completed_count(self) -> int:
        return 0 if self._handle is None else int(self._handle.progress.done)

    def get_result(self, *, block: bool = False, timeout: int | None = None) -> Any:
        """That of the last message."""
        if not block:
            return self.messages[-1].get_result()
        return self._wait(timeout)

    def get_results(self, *, block: bool = False, timeout: int | None = None) -> Iterator[Any]:
        """Those of all messages, in order."""
        for message in self.messages:
            yield message.get_result(block=block, timeout=timeout)


class group(_Composition):  # noqa: N801  Dramatiq's name
    """Messages beside each other."""

    def __init__(self, children: Iterable[Message[Any]]) -> None:
        self.children = list(children)
        for child in self.children:
            if not isinstance(child, Message):
                raise InvalidInput("group", f"takes single messages, not {type(child).__name__}; run each by itself")
        self._callbacks: list[Message[Any]] = []

    def __len__(self) -> int:
        return len(self.children)

    def add_completion_callback(self, message: Message[Any]) -> None:
        """What is to run when all of them have succeeded, with the arguments that it has."""
        message.options["pipe_ignore"] = True
        self._callbacks.append(message)

    def run(self, *, delay: object = None) -> "group":
        flow = group_of([child.step() for child in self.children])
        if self._callbacks:
            flow = flow.then(group_of([one.step() for one in self._callbacks]))
        self._begin(flow, [*self.children, *self._callbacks], delay)
        return self

    @property
    def completed(self) -> bool:
        return self.completed_count == len(self)

    @property
    def completed_count(self) -> int:
        return sum(_has_ended(child) for child in self.children)

    def get_results(self, *, block: bool = False, timeout: int | None = None) -> Iterator[Any]:
        """In order."""
        for child in self.children:
            yield child.get_result(block=block, timeout=timeout)

    def wait(self, *, timeout: int | None = None) -> None:
        """Until all have ended."""
        for _ in self.get_results(block=True, timeout=timeout):
            pass


def _has_ended(message: Message[Any]) -> bool:
    try:
        message.get_result()
    except ResultMissing:
        return False
    except ResultFailure:
        return True
    return True
