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
        parameters = self._signature.parameters.values()
        named = [one for one in parameters if one.kind is not inspect.Parameter.VAR_KEYWORD]
        self._names = frozenset(one.name for one in named)
        self._required = frozenset(one.name for one in named if one.default is one.empty)
        self._positional = [one.name for one in named if one.kind is one.POSITIONAL_OR_KEYWORD]
        self._rest: str | None = None
        for one in parameters:
            if one.kind in _NAMELESS:
                reason = f"{task} takes {str(one)!r} without a name, but jobs carry their arguments by name"
                raise InvalidInput("function", reason)
            if one.kind is inspect.Parameter.VAR_KEYWORD:
                self._rest = one.name

    def arguments(self, args: Sequence[object], kwargs: Mapping[str, object]) -> dict[str, object]:
        """The arguments of a call by name; refused if the function does not take them."""
        if not args and self._required <= kwargs.keys() <= self._names:
            return dict(kwargs)
        found = {**dict(zip(self._positional, args, strict=False)), **kwargs}
        is_each_once = len(found) == len(args) + len(kwargs)
        if is_each_once and self._required <= found.keys() <= self._names:
            return found
        return self._bound(args, kwargs)

    def some_arguments(self, args: Sequence[object], kwargs: Mapping[str, object]) -> dict[str, object]:
        """The same for a call in which some may still be missing."""
        try:
            found = self._signature.bind_partial(*args, **kwargs).arguments
        except TypeError as error:
            raise InvalidInput("arguments", f"{self._task}{self._signature}: {error}") from None
        rest = found.pop(self._rest, {}) if self._rest else {}
        return {**found, **rest}

    def takes(self, name: str) -> bool:
        return name in self._names or self._rest is not None

    def first_free(self, given: Mapping[str, object]) -> str | None:
        """The first parameter that is not given yet."""
        return next((name for name in self._positional if name not in given), None)

    def _bound(self, args: Sequence[object], kwargs: Mapping[str, object]) -> dict[str, object]:
        """The same as Python itself does it, which takes twice as long and knows what is wrong."""
        try:
            found = self._signature.bind(*args, **kwargs).arguments
        except TypeError as error:
            raise InvalidInput("arguments", f"{self._task}{self._signature}: {error}") from None
        rest = found.pop(self._rest, {}) if self._rest else {}
        return {**found, **rest}
