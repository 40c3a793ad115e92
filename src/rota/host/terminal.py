"""Text for a terminal: in colour where it is wanted, and without characters that would steer it."""

import os
import re
from typing import TextIO

import click

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def visible(text: str) -> str:
    """Text in which no character steers the terminal; tabs and line ends stay."""
    return _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


def coloured(text: str, colour: str | None, stream: TextIO) -> str:
    """Text in a colour, where the stream is a terminal and its user wants colours."""
    wants = stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return click.style(text, fg=colour) if colour and wants else text
