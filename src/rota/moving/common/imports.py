"""Functions that are given by name, and those that no worker could find."""

import importlib
import inspect
from collections.abc import Callable
from typing import Any

from rota.errors import GiveUp, InvalidInput


def function_of(field: str, given: object) -> Callable[..., Any]:
    """The function itself, or the one that a name such as `package.module.function` is of."""
    if isinstance(given, str):
        return _imported(field, given)
    if inspect.ismethod(given) or not callable(given) or inspect.isclass(given):
        reason = "must be a function at the top of a module, or its name; a worker finds it by that"
        raise InvalidInput(field, f"{reason}, got {given!r:.100}")
    return given


def named_function(name: str) -> Callable[..., Any]:
    """The function that a task is named after, `package.module.Class.function`: the longest module that there is, and
    what it has of that name."""
    parts = name.split(".")
    for count in range(len(parts) - 1, 0, -1):
        module = ".".join(parts[:count])
        try:
            found: Any = importlib.import_module(module)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{module}.".startswith(f"{error.name}."):
                raise
            continue
        for part in parts[count:]:
            found = getattr(found, part)
        return found  # type: ignore[no-any-return]
    raise GiveUp(f"the function {name!r} is not in the code of this worker; start it where it can be imported")


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
