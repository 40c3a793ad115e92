"""What another library takes and Rota cannot carry is refused at once, with what to do instead."""

from collections.abc import Callable, Iterable, Mapping
from typing import NoReturn

from msgspec import Struct

from rota.errors import InvalidInput


class Options(Struct, frozen=True, kw_only=True):
    """The options of one call of the other library."""

    of: str
    """The call, as its users know it."""
    carried: tuple[str, ...]
    harmless: tuple[str, ...] = ()
    """Those that say what Rota does anyway, or what makes no difference to it."""
    instead: Mapping[str, str] = {}
    """What to do instead of those that cannot be carried."""

    def check(self, given: Iterable[str]) -> None:
        """Refuse what is neither carried nor harmless."""
        for name in given:
            if name not in self.carried and name not in self.harmless:
                hint = self.instead.get(name, f"leave it out; carried are {', '.join(self.carried)}")
                raise InvalidInput(name, f"of {self.of} is not carried by Rota; {hint}")


def refuse_value(name: str, value: object, *, allowed: tuple[object, ...], instead: str) -> None:
    """Refuse a value of an option that is only carried with some."""
    if value not in allowed:
        raise InvalidInput(name, f"{value!r:.100} is not carried by Rota; {instead}")


def refused_method(name: str, instead: str) -> Callable[..., NoReturn]:
    """A method of the other library that is not carried, whatever it is called with."""

    def refuse(self: object, *args: object, **kwargs: object) -> NoReturn:
        raise InvalidInput(name, f"is not carried by Rota; {instead}")

    return refuse
