"""Functions that are given by name, and those that no worker could find."""

import importlib
import inspect
from collections.abc import Callable
from typing import Any

from rota.errors import InvalidInput


def function_of(field: str, given: object) -> Callable[..., Any]:
    """The function itself, or the one that a name such as `package.module.function` is of."""
    if isinstance(given, str):
        return _imported(field, given)
    if inspect.ismethod(given) or not callable(given) or inspect.isclass(given):
        reason = "must be a function at the top of a module, or its name; a worker finds it by that"
        raise InvalidInput(field, f"{reason}, got {given!r:.100}")
    return given


def _imported(field: str, name: str) -> Callable[..., Any]:
    module, colon, function = name.partition(":")
    if not colon:
        module, _, function = name.rpartition(".")
    try:
        found = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError, ValueError) as error:
        reason = f"{name!r} cannot be imported here: {error}; what it takes must be known where it is enqueued"
        raise InvalidInput(field, reason) from None
    return function_of(field, found)
