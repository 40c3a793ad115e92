"""Which names fit what somebody has typed so far, the likeliest first."""

from collections.abc import Iterable


def fits(name: str, typed: str) -> int | None:
    """How well, 0 being best: it begins with what is typed, one of its words does, it has all that is typed somewhere.
    None if it does not fit."""
    name, typed = name.casefold(), typed.strip().casefold()
    if name.startswith(typed):
        return 0
    if not all(word in name for word in typed.split()):
        return None
    return 1 if any(_begins(name, at) for at in _places(name, typed.split()[0])) else 2


def best(names: Iterable[str], typed: str, most: int) -> list[str]:
    """The names that fit, at most so many."""
    ranked = [(rank, name) for name in names if (rank := fits(name, typed)) is not None]
    return [name for _, name in sorted(ranked, key=lambda one: one[0])[:most]]


def _places(name: str, word: str) -> Iterable[int]:
    at = name.find(word)
    while at >= 0:
        yield at
        at = name.find(word, at + 1)


def _begins(name: str, at: int) -> bool:
    """Whether a word begins there."""
    return at == 0 or not name[at - 1].isalnum()
