"""How many lines of a log are read at a time: about as many letters each time, whatever the lines are like."""

from collections.abc import Sequence

LETTERS_PER_PAGE = 64 * 1024
_FIRST = 64
"""Lines, of which nothing is known yet: a line may have 16 KiB."""


class PageSize:
    """For one reader, from page to page."""

    def __init__(self, most: int) -> None:
        """`most` lines, if they are short."""
        self._most = most
        self.lines = min(_FIRST, most)

    def learn(self, messages: Sequence[str]) -> None:
        """The next lines are taken to be like these."""
        letters = sum(map(len, messages))
        self.lines = max(1, min(self._most, LETTERS_PER_PAGE * len(messages) // max(letters, 1)))
