"""Colours in the output of jobs: escaped first, then escape sequences for colours become classes, and all others go.

This is the one place whose HTML the templates take as it is."""

import re
from collections.abc import Iterator

from markupsafe import Markup, escape

from rota.server.pages.showing.readable import readable

_SEQUENCE = re.compile(r"\x1b(?:\[([0-9;:?]*)[ -/]*([@-~])|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[()*+].|[@-Z\\-_])")
_COLOURS = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
_STYLES = {1: "bold", 2: "dim", 3: "italic", 4: "underline"}
_ENDS = {22: {"bold", "dim"}, 23: {"italic"}, 24: {"underline"}}


def ansi_html(text: str) -> Markup:
    """A line as HTML: a span for each stretch of text of one look, however many sequences are in it."""
    classes: dict[str, str] = {}
    stretches: list[tuple[str, list[str]]] = [("", [])]
    at = 0
    for found in _SEQUENCE.finditer(text):
        stretches[-1][1].append(text[at : found.start()])
        at = found.end()
        if found[2] == "m":
            _apply(found[1], classes)
            names = " ".join(f"ansi-{name}" for name in classes.values())
            if names != stretches[-1][0]:
                stretches.append((names, []))
    stretches[-1][1].append(text[at:])
    return Markup("".join(_span(names, "".join(pieces)) for names, pieces in stretches))


def _span(names: str, text: str) -> str:
    """The text, escaped, in a span that has its classes."""
    shown = escape(readable(text))
    return f'<span class="{names}">{shown}</span>' if names and text else str(shown)


def _apply(codes: str, classes: dict[str, str]) -> None:
    numbers = iter([int(code) if code.isdigit() and len(code) < 4 else 0 for code in codes.split(";")])
    for code in numbers:
        if code in (38, 48):  # a colour of 256, or of all: no class has it, and its numbers are no codes
            _skip(numbers, {5: 1, 2: 3}.get(next(numbers, 0), 0))
        elif code == 0:
            classes.clear()
        elif code in _STYLES:
            classes[_STYLES[code]] = _STYLES[code]
        elif code in _ENDS:
            for name in _ENDS[code]:
                classes.pop(name, None)
        elif 30 <= code <= 37 or 90 <= code <= 97:
            classes["colour"] = _COLOURS[code % 10]
        elif code == 39:
            classes.pop("colour", None)


def _skip(numbers: Iterator[int], count: int) -> None:
    for _ in range(count):
        next(numbers, 0)
