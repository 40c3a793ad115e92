"""Compares what a page shows with what came out.

`...` as a line of its own is any number of lines, within a line any text. How many spaces stand between two words does
not count: the columns of a table are as wide as what is in them.
"""

import re
from collections.abc import Sequence

_ANY = "..."


def fits(shown: Sequence[str], output: str) -> bool:
    """Whether the output is what the page shows."""
    pattern = "".join(map(_pattern, shown))
    return re.fullmatch(pattern, "".join(f"{_words(line)}\n" for line in output.splitlines())) is not None


def _pattern(line: str) -> str:
    if line.strip() == _ANY:
        return r"(?:.*\n)*"
    return ".*".join(re.escape(part) for part in _words(line).split(_ANY)) + r"\n"


def _words(line: str) -> str:
    return " ".join(line.split())
