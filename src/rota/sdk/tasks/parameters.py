"""What a task's function takes. Jobs carry arguments by name, so that people can give and read them."""

import inspect
from collections.abc import Callable, Mapping, Sequence

from rota.errors import InvalidInput

_NAMELESS = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.VAR_POSITIONAL)


class Parameters:
    """The parameters of one task."""

    def __init__(self, task: str, function: Callable[..., object]) -> None:
        self._task = task
        self._signature = inspect.signature(function)
        self._rest: str | None = None
        for one in self._signature.parameters.values():
            if one.kind in _NAMELESS:
                reason = f"{task} takes {str(one)!r} without a name, but jobs carry their arguments by name"
                raise InvalidInput("function", reason)
            if one.kind is inspect.Parameter.VAR_KEYWORD:
                self._rest = one.name

    def arguments(self, args: Sequence[object], kwargs: Mapping[str, object]) -> dict[str, object]:
        """The arguments of a call by name; refused if the function does not take them."""
        try:
            found = self._signature.bind(*args, **kwargs).arguments
        except TypeError as error:
            raise InvalidInput("arguments", f"{self._task}{self._signature}: {error}") from None
        rest = found.pop(self._rest, {}) if self._rest else {}
        return {**found, **rest}
