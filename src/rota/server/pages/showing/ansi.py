"""Colours in the output of jobs: escaped first, then escape sequences for colours become classes, and all others go.

This is the one place whose HTML the templates take as it is."""

import re
from collections.abc import Iterator

from markupsafe import Markup, escape

from rota.server.pages.showing.readable import readable

_SEQUENCE = re.compile(r"\x1b(?:\[([0-9;:?]*)[ -/]*([@-~])|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[()*+].|[@-Z\\-_])")
_COLOURS = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
_STYLES = {1: "bold", 2: "dim", 3: "italic", 4: "underline"}
_ENDS = {22: {"bold", "dim"}, 23: {"italic"}, 24: {"underline"}, 39: {"colour"}}
_TEXT_COLOUR = 38
_WITH_COLOUR = (_TEXT_COLOUR, 48, 58)
"""Of the text, of what is behind it, of the line under it: one of 256 colours, or of all."""
_GREY = 48
_DIGITS = 4


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
    """Semicolons part codes from each other; colons part what one code says more closely."""
    groups = iter([[_number(one) for one in group.split(":")] for group in codes.split(";")])
    for code, *closer in groups:
        if code in _WITH_COLOUR:
            name = _nearest(closer or _following(groups))
            if code == _TEXT_COLOUR:
                _put(classes, "colour", name)
        elif code == 0:
            classes.clear()
        elif code in _STYLES:  # `4:3` is a wavy line, `4:0` is none
            _put(classes, _STYLES[code], "" if closer[:1] == [0] else _STYLES[code])
        elif code in _ENDS:
            for ended in _ENDS[code]:
                classes.pop(ended, None)
        elif 30 <= code <= 37 or 90 <= code <= 97:
            classes["colour"] = _COLOURS[code % 10]


def _put(classes: dict[str, str], what: str, name: str) -> None:
    if name:
        classes[what] = name
    else:
        classes.pop(what, None)


def _number(text: str) -> int:
    return int(text) if text.isdigit() and len(text) < _DIGITS else 0


def _following(groups: Iterator[list[int]]) -> list[int]:
    """The codes behind one for a colour that belong to it: `5;N`, or `2;R;G;B`."""
    kind = next(groups, [0])[0]
    return [kind, *(next(groups, [0])[0] for _ in range({5: 1, 2: 3}.get(kind, 0)))]


def _nearest(numbers: list[int]) -> str:
    """The one of our colours that is like it, so that it can be read in both themes; none if it is grey."""
    kind, *values = numbers
    if kind == 5 and values and values[0] < 16:
        return _COLOURS[values[0] % 8]
    if kind == 5 and values and values[0] < 232:
        cube = values[0] - 16
        red, green, blue = (step * 51 for step in (cube // 36, cube // 6 % 6, cube % 6))
    elif kind == 2 and len(values) >= 3:
        red, green, blue = values[1:4] if len(values) > 3 else values  # a fourth, in front, names a colour space
    else:
        return ""
    darkest, lightest = min(red, green, blue), max(red, green, blue)
    if lightest - darkest < _GREY:
        return ""
    half = (darkest + lightest) / 2
    return _COLOURS[(red > half) + 2 * (green > half) + 4 * (blue > half)]
