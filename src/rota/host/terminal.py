"""Text for a terminal: in colour where it is wanted, and without characters that would steer it."""

import os
import re
from typing import TextIO

import click

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Control characters, and those that change the direction of text, so that it reads as something else."""


def visible(text: str) -> str:
    """Text in which no character steers the terminal; tabs and line ends stay."""
    return _CONTROL.sub(_escaped, text)


def _escaped(found: re.Match[str]) -> str:
    number = ord(found[0])
    return f"\\x{number:02x}" if number < 256 else f"\\u{number:04x}"


def coloured(text: str, colour: str | None, stream: TextIO) -> str:
    """Text in a colour, where the stream is a terminal and its user wants colours."""
    wants = stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return click.style(text, fg=colour) if colour and wants else text
