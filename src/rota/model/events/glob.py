"""Globs: `*` is anything within a directory, `**` across directories, `?` one character, `[abc]` one of some.

A glob with one star is a regular expression. With more, a regular expression tries where each star ends over and over,
for ever if somebody wants that; so they are followed all at once, a bit for each place in the pattern, and the time
grows with the length of the text alone.
"""

import re
from collections.abc import Callable, Iterator
from functools import lru_cache

_STAR, _DEEP_STAR = "[^/]*", ".*"
_STARS = (_STAR, _DEEP_STAR)
_MOST_LETTERS = 256
"""Letters whose places a pattern remembers."""


@lru_cache(maxsize=4096)
def glob_matcher(pattern: str) -> Callable[[str], bool]:
    """Tells whether a text matches, all of it."""
    pieces = list(_pieces(pattern))
    if sum(piece in _STARS for piece in pieces) > 1:
        return _Places(pieces).match
    whole = re.compile("".join(pieces), re.DOTALL)
    return lambda text: whole.fullmatch(text) is not None


class _Places:
    """All places of a pattern at which a text may be, as the bits of one number."""

    def __init__(self, pieces: list[str]) -> None:
        self._singles = [
            (1 << number, re.compile(piece, re.DOTALL)) for number, piece in enumerate(pieces) if piece not in _STARS
        ]
        self._deep_stars = sum(1 << number for number, piece in enumerate(pieces) if piece == _DEEP_STAR)
        self._stars = self._deep_stars | sum(1 << number for number, piece in enumerate(pieces) if piece == _STAR)
        self._end = 1 << len(pieces)
        self._taking: dict[str, int] = {}
        """Letter to the places that take it and go on."""

    def match(self, text: str) -> bool:
        known, stars, deep_stars = self._taking, self._stars, self._deep_stars
        places = 1
        for letter in text:
            # Where a star is, the place behind it is too. No two stars are neighbours.
            places |= (places & stars) << 1
            taking = known.get(letter)
            if taking is None:
                taking = self._places_taking(letter)
            places = (places & taking) << 1 | places & (deep_stars if letter == "/" else stars)
        return bool((places | (places & stars) << 1) & self._end)

    def _places_taking(self, letter: str) -> int:
        taking = sum(bit for bit, single in self._singles if single.fullmatch(letter))
        if len(self._taking) < _MOST_LETTERS:
            self._taking[letter] = taking
        return taking


def _pieces(pattern: str) -> Iterator[str]:
    """What the pattern consists of, each as a regular expression; of neighbouring stars the one that takes more."""
    star = ""
    for piece in _every_piece(pattern):
        if piece in _STARS:
            star = _DEEP_STAR if _DEEP_STAR in (star, piece) else _STAR
            continue
        if star:
            yield star
            star = ""
        yield piece
    if star:
        yield star


def _every_piece(pattern: str) -> Iterator[str]:
    at = 0
    while at < len(pattern):
        if pattern.startswith("**", at):
            yield _DEEP_STAR
            at += 2
            continue
        closing = pattern.find("]", at + 2) if pattern[at] == "[" else -1
        if closing > 0:
            yield _character_class(pattern[at + 1 : closing])
            at = closing + 1
            continue
        yield {"*": _STAR, "?": "[^/]"}.get(pattern[at]) or re.escape(pattern[at])
        at += 1


def _character_class(inner: str) -> str:
    negated = inner[0] == "!"
    members = inner[negated:]
    escaped = re.sub(r"([\\\]\[^&~|])", r"\\\1", members)
    return f"[{'^' if negated else ''}{escaped}]"
