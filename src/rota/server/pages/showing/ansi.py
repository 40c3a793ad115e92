"""Colours in the output of jobs: escaped first, then escape sequences for colours become classes, and all others go.

This is the one place whose HTML the templates take as it is."""

import re

from markupsafe import Markup, escape

from rota.server.pages.showing.readable import readable

_SEQUENCE = re.compile(r"\x1b(?:\[([0-9;:?]*)[ -/]*([@-~])|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[()*+].|[@-Z\\-_])")
_COLOURS = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
_STYLES = {1: "bold", 2: "dim", 3: "italic", 4: "underline"}
_ENDS = {22: {"bold", "dim"}, 23: {"italic"}, 24: {"underline"}}


def ansi_html(text: str) -> Markup:
    """A line as HTML."""
    classes: dict[str, str] = {}
    pieces: list[Markup] = []
    at = 0
    for found in _SEQUENCE.finditer(text):
        pieces.append(_piece(text[at : found.start()], classes))
        at = found.end()
        if found[2] == "m":
            _apply(found[1], classes)
    pieces.append(_piece(text[at:], classes))
    return Markup("").join(pieces)


def _piece(text: str, classes: dict[str, str]) -> Markup:
    """The text in a span that has its classes."""
    shown = escape(readable(text))
    names = " ".join(f"ansi-{name}" for name in classes.values())
    return Markup('<span class="{}">{}</span>').format(names, shown) if names and text else shown


def _apply(codes: str, classes: dict[str, str]) -> None:
    numbers = [int(code) if code.isdigit() and len(code) < 4 else 0 for code in codes.split(";")]
    while numbers:
        code = numbers.pop(0)
        if code in (38, 48):  # a colour of 256, or of all: no class has it, and its numbers are no codes
            del numbers[: {5: 2, 2: 4}.get(numbers[0] if numbers else 0, 0)]
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
