"""`link` and `link_error`: tasks that follow another one, and are carried with its job."""

import inspect
import logging
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

import msgspec
from msgspec import Struct

from rota.errors import InvalidInput
from rota.moving.celery.canvas import Signature
from rota.moving.celery.options import LINKS
from rota.sdk.tasks.current_job import current_job

_FOLLOWING = ("link", "link_error")
_TIMES = ("eta", "expires")
_logger = logging.getLogger("rota.celery")


class Link(Struct, frozen=True, omit_defaults=True):
    """A task with some of its arguments."""

    task: str
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    options: dict[str, Any] = {}
    immutable: bool = False


class Links(Struct, frozen=True, omit_defaults=True):
    """What follows one job."""

    success: list[Link] = []
    failure: list[Link] = []

    def follow(self, tasks: Mapping[str, Any], value: object) -> None:
        """Enqueue what follows a success. Should the job run again after all, no second one is made."""
        for number, one in enumerate(self.success):
            _enqueue(tasks, one, value, name=f"link {number}")

    def tell(self, tasks: Mapping[str, Any], request: object, error: Exception) -> None:
        """Call or enqueue what follows a failure: as in Celery, a task that takes more than one argument is called
        here, with the request, the exception and its traceback, and any other one gets the id of the job."""
        for number, one in enumerate(self.failure):
            try:
                _tell(tasks, one, request, error, number=number)
            except Exception:  # the others are told all the same, and the job fails with what it raised itself
                _logger.exception("a link_error failed", extra={"job_id": current_job().id, "task": one.task})


def carried_links(link: object, link_error: object) -> dict[str, object]:
    """As an argument of the job; nothing if nothing follows."""
    found = msgspec.to_builtins(Links(_links("link", link), _links("link_error", link_error)))
    return {LINKS: found} if found else {}


def read_links(carried: object) -> Links:
    return msgspec.convert(carried or {}, Links)


def _links(field: str, given: object) -> list[Link]:
    found = list(given) if isinstance(given, Iterable) else [] if given is None else [given]
    return [_link(field, one) for one in found]


def _link(field: str, given: object) -> Link:
    if not isinstance(given, Signature):
        raise InvalidInput(field, f"takes single tasks, such as add.s(1), not {type(given).__name__}; chain the others")
    return Link(given.task.name, list(given.args), given.kwargs, _carried(field, given), given.immutable)


def _carried(field: str, given: Signature) -> dict[str, Any]:
    """Its options as JSON has them. What could not be done is refused now, not when the job before it has succeeded."""
    options = {name: value for name, value in given.options.items() if value is not None}
    if not options.keys().isdisjoint(_FOLLOWING):
        raise InvalidInput(field, "takes tasks that nothing follows; chain the others")
    given.task.with_options(**options)
    return {name: one.total_seconds() if isinstance(one, timedelta) else one for name, one in options.items()}


def _options(link: Link) -> dict[str, Any]:
    """As they were given: times are text on the way."""
    given = link.options
    return given | {name: datetime.fromisoformat(given[name]) for name in _TIMES if isinstance(given.get(name), str)}


def _task(tasks: Mapping[str, Any], link: Link) -> Any:
    if link.task not in tasks:
        raise InvalidInput("link", f"the task {link.task!r} is not in the code of this worker")
    return tasks[link.task]


def _tell(tasks: Mapping[str, Any], link: Link, request: object, error: Exception, *, number: int) -> None:
    task = _task(tasks, link)
    if not link.immutable and _takes_more_than_one(task, link):
        task.call(request, error, error.__traceback__, *link.args, **link.kwargs)
    else:
        _enqueue(tasks, link, current_job().id, name=f"link_error {number}")


def _enqueue(tasks: Mapping[str, Any], link: Link, first: object, *, name: str) -> None:
    args = link.args if link.immutable else [first, *link.args]
    options = {"task_id": f"{current_job().id} {name}", **_options(link)}
    _task(tasks, link).apply_async(args, link.kwargs, **options)


def _takes_more_than_one(task: Any, link: Link) -> bool:
    """Of the arguments that are still missing."""
    parameters = inspect.signature(task.sdk_task.__rota_function__).parameters.values()
    free = [one for one in parameters if one.kind is one.POSITIONAL_OR_KEYWORD and one.name not in link.kwargs]
    return len(free) - len(link.args) > 1
