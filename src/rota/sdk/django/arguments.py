"""The arguments of a task as JSON has them, by Django's rules: bytes are text, a tuple is a list."""

from collections.abc import Mapping, Sequence
from inspect import signature
from typing import Any

from django.tasks import Task
from django.utils.json import normalize_json


def check_call(task: Task, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """Refuse arguments that the function does not take, here and not in the worker."""
    takes = signature(task.func)
    try:
        takes.bind(*([None] if task.takes_context else []), *args, **kwargs)
    except TypeError as error:
        raise TypeError(f"{task.module_path}{takes}: {error}") from None


def plain(name: str, value: Any) -> Any:
    """A value as JSON has it. One that JSON cannot carry is refused as Django refuses it, with the path to it."""
    try:
        return normalize_json(value)
    except (TypeError, ValueError) as error:
        path, found = _first_refused(name, value)
        raise type(error)(f"{path} is {found!r:.100}, which JSON cannot carry; give its id instead") from None


def _first_refused(path: str, value: object) -> tuple[str, object]:
    for inner, part in _parts(path, value):
        try:
            normalize_json(part)
        except (TypeError, ValueError):
            return _first_refused(inner, part)
    return path, value


def _parts(path: str, value: object) -> list[tuple[str, object]]:
    if isinstance(value, Mapping):
        return [(f"{path}.{key}", part) for key, part in value.items()]
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [(f"{path}[{number}]", part) for number, part in enumerate(value)]
    return []
