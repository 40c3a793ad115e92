"""Functions as workers call them, when the other library calls them in another way."""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any


def called_by(
    function: Callable[..., Any], call: Callable[..., Any], *, hides_first: bool = False
) -> Callable[..., Any]:
    """`call`, with the name and the parameters of a function, perhaps without its first one: the library gives that."""
    made = wraps(function)(call)
    signature = inspect.signature(function)
    if hides_first:
        parameters = list(signature.parameters.values())[1:]
        signature = signature.replace(parameters=parameters)
    made.__signature__ = signature  # type: ignore[attr-defined]
    return made


def positional_names(function: Callable[..., Any]) -> list[str]:
    """The names by which arguments without one are carried."""
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.POSITIONAL_ONLY)
    return [one.name for one in inspect.signature(function).parameters.values() if one.kind in kinds]
