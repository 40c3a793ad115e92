"""Functions as workers call them, when the other library calls them in another way."""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any


def called_by(
    function: Callable[..., Any], call: Callable[..., Any], *, hides_first: bool = False, takes: str | None = None
) -> Callable[..., Any]:
    """`call`, with the name and the parameters of a function, perhaps without its first one, which the library gives,
    and with one that only the library knows."""
    made = wraps(function)(call)
    signature = inspect.signature(function)
    if hides_first:
        parameters = list(signature.parameters.values())[1:]
        signature = signature.replace(parameters=parameters)
    if takes is not None:
        signature = _with_parameter(signature, takes)
    made.__signature__ = signature  # type: ignore[attr-defined]
    return made


def _with_parameter(signature: inspect.Signature, name: str) -> inspect.Signature:
    parameters = list(signature.parameters.values())
    at = len(parameters) - bool(parameters and parameters[-1].kind is inspect.Parameter.VAR_KEYWORD)
    parameters.insert(at, inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None))
    return signature.replace(parameters=parameters)


def positional_names(function: Callable[..., Any]) -> list[str]:
    """The names by which arguments without one are carried."""
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.POSITIONAL_ONLY)
    return [one.name for one in inspect.signature(function).parameters.values() if one.kind in kinds]
