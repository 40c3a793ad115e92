"""Reads the documents: their fenced blocks, links and headings. Fences inside lists count too."""

import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from textwrap import dedent
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
_FENCE = re.compile(r"^( *)```(\w*) *(.*)$")
_TITLE = re.compile(r'title="([^"]+)"')
_NOT_RUN = re.compile(r"^ *<!-- not run: (.+) -->$")
_COMMAND = "$ "


class Block(NamedTuple):
    """One fenced block."""

    language: str
    text: str
    line: int
    """Where it begins in its page."""
    title: str | None = None
    """The name of the file that it is the content of."""
    not_run: str | None = None
    """Why it cannot be run, as the comment above it says."""


class Command(NamedTuple):
    """A command of a block, and the output that the page shows for it."""

    text: str
    shown: Sequence[str]


def example_pages() -> list[Path]:
    """The documents whose blocks are run: the README and the manual."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def all_pages() -> list[Path]:
    """Every document of the repository."""
    others = [*ROOT.glob("*.md"), *(ROOT / "benchmarks").glob("*.md"), *(ROOT / "contrib").rglob("*.md")]
    return sorted({*example_pages(), *others})


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def blocks_of(text: str) -> Iterator[Block]:
    """The fenced blocks of a page, in order."""
    lines = enumerate(text.splitlines(), start=1)
    above = ""
    for number, line in lines:
        fence = _FENCE.match(line)
        if fence:
            content = _until_end(lines, fence[1])
            title = _TITLE.search(fence[3])
            reason = _NOT_RUN.match(above)
            yield Block(fence[2], content, number, title and title[1], reason and reason[1])
        above = line


def _until_end(lines: Iterator[tuple[int, str]], indent: str) -> str:
    found: list[str] = []
    for _, line in lines:
        if line == f"{indent}```":
            return dedent("".join(f"{one}\n" for one in found))
        found.append(line)
    raise AssertionError("a fence is not closed")


def commands_of(block: Block) -> list[Command]:
    """What stands behind `$ ` is a command, to the end of the line or further while a line ends with a backslash or
    within quotes; the rest is output."""
    found: list[Command] = []
    goes_on = False
    for line in block.text.splitlines():
        if goes_on:
            found[-1] = Command(f"{found[-1].text}\n{line}", [])
        elif line.startswith(_COMMAND):
            found.append(Command(line.removeprefix(_COMMAND), []))
        else:
            found[-1] = Command(found[-1].text, [*found[-1].shown, line])
            continue
        goes_on = not _is_whole(found[-1].text)
    return found


def _is_whole(command: str) -> bool:
    if command.endswith("\\"):
        return False
    try:
        shlex.split(command, comments=True)
    except ValueError:  # a quote that is not closed; those in comments do not count
        return False
    return True


def prose_of(text: str) -> str:
    """The page without its fenced blocks."""
    kept, is_inside = [], False
    for line in text.splitlines():
        if _FENCE.match(line):
            is_inside = not is_inside
        elif not is_inside:
            kept.append(line)
    return "\n".join(kept)
