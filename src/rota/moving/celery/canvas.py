"""Signatures, chains, groups and chords, as far as flows carry them."""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from rota.errors import InvalidInput
from rota.moving.celery.options import LINKS
from rota.moving.celery.result import AsyncResult, GroupResult
from rota.moving.common.functions import positional_names
from rota.sdk.tasks.app import Rota
from rota.sdk.tasks.flow import Flow
from rota.sdk.tasks.flow import group as group_of
from rota.sdk.tasks.task import Enqueueing, TaskFunction


class CanvasTask(Protocol):
    """A task, as far as a canvas needs it."""

    @property
    def name(self) -> str: ...

    @property
    def rota_app(self) -> Rota: ...

    @property
    def sdk_task(self) -> TaskFunction[..., Any, Any]: ...

    def with_options(self, **options: Any) -> Enqueueing[..., Any]: ...

    def apply_async(
        self, args: Sequence[object] | None = None, kwargs: Mapping[str, object] | None = None, **options: Any
    ) -> AsyncResult[Any]: ...

    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...


class Canvas(ABC):
    """What can follow something else, and be followed."""

    def __or__(self, other: "Canvas") -> "chain":
        return chain(self, other)

    def parts(self) -> "list[Canvas]":
        """Those that follow each other."""
        return [self]

    @abstractmethod
    def flow(self, *, follows: bool) -> Flow[Any]:
        """The same for Rota."""

    @abstractmethod
    def app(self) -> Rota:
        """Whose tasks they are."""

    @abstractmethod
    def apply_async(self, **options: object) -> Any:
        """Make its first jobs; the others follow."""

    def delay(self) -> Any:
        return self.apply_async()

    def __call__(self) -> Any:
        return self.apply_async()


class Signature(Canvas):
    """A task with some of its arguments."""

    def __init__(
        self,
        task: CanvasTask,
        args: tuple[object, ...] = (),
        kwargs: Mapping[str, object] | None = None,
        *,
        options: Mapping[str, object] | None = None,
        immutable: bool = False,
    ) -> None:
        self.task = task
        self.args = tuple(args)
        self.kwargs = dict(kwargs or {})
        self.options = dict(options or {})
        self.immutable = immutable

    def set(self, **options: object) -> "Signature":
        """The same with options of `apply_async`."""
        self.options |= options
        return self

    def clone(self, args: tuple[object, ...] = (), kwargs: Mapping[str, object] | None = None) -> "Signature":
        """The same with further arguments, which come first."""
        merged = {**self.kwargs, **(kwargs or {})}
        return Signature(self.task, (*args, *self.args), merged, options=self.options, immutable=self.immutable)

    def app(self) -> Rota:
        return self.task.rota_app

    def apply_async(self, args: tuple[object, ...] = (), **options: object) -> AsyncResult[Any]:  # type: ignore[override]
        return self.task.apply_async((*args, *self.args), self.kwargs, **{**self.options, **options})

    def delay(self, *args: object) -> AsyncResult[Any]:
        return self.apply_async(args)

    def __call__(self, *args: object) -> Any:
        """Here and now, as in Celery."""
        return self.task(*args, *self.args, **self.kwargs)

    def flow(self, *, follows: bool) -> Flow[Any]:
        for name in self.options:
            raise InvalidInput(name, f"of {self.task.name} is not carried in a chain, group or chord; leave it out")
        function = self.task.sdk_task.__rota_function__
        if self.immutable:  # a parameter that is left open would get the result of what comes before
            bound = inspect.signature(function).bind(*self.args, **self.kwargs)
            bound.apply_defaults()
            bound.arguments.pop(LINKS, None)
            return self.task.sdk_task.step(*bound.args, **bound.kwargs)
        names = positional_names(function)[1 if follows else 0 :]  # the result before it comes first
        if len(self.args) > len(names):
            raise InvalidInput("args", f"{self.task.name} takes {len(names)} arguments here, got {len(self.args)}")
        return self.task.sdk_task.step(**dict(zip(names, self.args, strict=False)), **self.kwargs)


class group(Canvas):  # noqa: N801  Celery's name
    """Tasks beside each other, or chains, groups and chords."""

    def __init__(self, *tasks: Canvas | Iterable[Canvas]) -> None:
        first = tasks[0] if len(tasks) == 1 else None
        found = list(first) if isinstance(first, Iterable) else list(tasks)
        for one in found:
            if not isinstance(one, Canvas):
                raise InvalidInput("group", f"takes tasks such as add.s(1), and chains of them, not {one!r:.100}")
        self.tasks: list[Canvas] = found  # type: ignore[assignment]

    def app(self) -> Rota:
        return self.tasks[0].app()

    def flow(self, *, follows: bool) -> Flow[Any]:
        for one in self.tasks:
            if not isinstance(one, Signature):
                raise InvalidInput(
                    "group",
                    f"has a {type(one).__name__} in it, and something before or after it, which is not carried by Rota;"
                    " have a task enqueue what follows, or make the group of single tasks",
                )
        return group_of([one.flow(follows=follows) for one in self.tasks])

    def apply_async(self, **options: object) -> GroupResult:
        if all(isinstance(one, Signature) for one in self.tasks):
            return _begin_group(self, options)
        _refuse_options(options)
        results = [one.apply_async() for one in self.tasks]
        return GroupResult(results[0].id, results, None)


class chain(Canvas):  # noqa: N801  Celery's name
    """Tasks one after the other; each gets the result of the one before."""

    def __init__(self, *tasks: Canvas | Iterable[Canvas]) -> None:
        first = tasks[0] if len(tasks) == 1 else None
        given = list(first) if isinstance(first, Iterable) else list(tasks)
        self.tasks = [part for one in given for part in one.parts()]  # type: ignore[union-attr]
        if not self.tasks:
            raise InvalidInput("chain", "needs at least one task")

    def parts(self) -> list[Canvas]:
        return self.tasks

    def app(self) -> Rota:
        return self.tasks[0].app()

    def flow(self, *, follows: bool) -> Flow[Any]:
        made = self.tasks[0].flow(follows=follows)
        for one in self.tasks[1:]:
            made = made.then(one.flow(follows=True))
        return made

    def apply_async(self, **options: object) -> AsyncResult[Any] | GroupResult:
        if isinstance(self.tasks[-1], group):
            return _begin_group(self, options)
        handle = _begin(self, options)
        return AsyncResult(handle.handles[-1][0].id, app=self.app(), flow=handle)


class chord(chain):  # noqa: N801  Celery's name
    """A group, and what gets the list of its results: `chord(header)(body)`, or `chord(header, body)()`."""

    def __init__(self, header: group | Iterable[Canvas], body: Signature | None = None) -> None:
        self._header = header if isinstance(header, group) else group(header)
        super().__init__(self._header, *([] if body is None else [body]))

    def __call__(self, body: Signature | None = None) -> Any:
        return (self if body is None else chain(self._header, body)).apply_async()


def signature(
    task: CanvasTask | str, args: tuple[object, ...] = (), kwargs: Mapping[str, object] | None = None, **options: Any
) -> Signature:
    """A task with some of its arguments. A name instead of the task is not carried."""
    if isinstance(task, str):
        raise InvalidInput("signature", f"give the task itself instead of its name {task!r}")
    immutable = bool(options.pop("immutable", False))
    return Signature(task, args, kwargs, options=options, immutable=immutable)


def _refuse_options(options: Mapping[str, object]) -> None:
    for name in options:
        raise InvalidInput(name, "is not carried for a chain, group or chord; give it to a single task")


def _begin(canvas: Canvas, options: Mapping[str, object]) -> Any:
    _refuse_options(options)
    return canvas.flow(follows=False).enqueue()


def _begin_group(canvas: Canvas, options: Mapping[str, object]) -> GroupResult:
    handle, app = _begin(canvas, options), canvas.app()
    return GroupResult(handle.id, [AsyncResult(one.id, app=app) for one in handle.handles[-1]], handle)
