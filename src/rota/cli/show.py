"""How verbs answer: data on standard output, as JSON or as tables; talk on standard error.

Tables are drawn by rich on a terminal and are plain aligned text elsewhere. What comes from jobs may hold control
characters that would steer the terminal, so they are made visible first.
"""

import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Protocol

import click
import msgspec

from rota.clock import as_datetime
from rota.host.terminal import visible
from rota.model.ids import is_id
from rota.model.triggers.zones import moments

if TYPE_CHECKING:
    from rich.table import Table

_STYLES = {
    "succeeded": "green",
    "failed": "red",
    "cancelled": "yellow",
    "running": "cyan",
    "delayed": "magenta",
    "alive": "green",
    "dead": "red",
    "draining": "yellow",
    "paused": "yellow",
    "ok": "green",
    "warning": "yellow",
    "problem": "red",
}


_IDS = ("ID", "NODE", "UUID", "JOB")
_UNBROKEN = (
    *_IDS,
    "STATE",
    "STATUS",
    "RUNNING",
    "ENQUEUED",
    "STARTED",
    "TOOK",
    "FOR",
    "ATTEMPTS",
    "LAST BEAT",
    "COUNT",
)
_SHORT_ID = 8


class Named(Protocol):
    """A definition."""

    @property
    def uuid(self) -> str: ...

    @property
    def name(self) -> str: ...


Shape = dict[str, object]
"""The fields of an answer."""


def as_fields(shape: object) -> Shape:
    """An answer as plain fields."""
    fields: Shape = msgspec.to_builtins(shape)
    return fields


def print_json(document: object) -> None:
    """One document."""
    click.echo(msgspec.json.format(msgspec.json.encode(document), indent=2).decode())


def print_foreign(text: str, *, err: bool = False) -> None:
    """A line that a job wrote."""
    click.echo(visible(text), err=err)


def talk(message: str) -> None:
    """Say something that is not the answer itself."""
    click.echo(message, err=True)


def print_table(headers: Sequence[str], rows: Iterable[Sequence[object]], *, nothing: str) -> None:
    """Rows under headers. `nothing` is said when there are none."""
    cells = [[_cell(value) for value in row] for row in rows]
    if not cells:
        talk(nothing)
    elif sys.stdout.isatty():
        _print_rich_table(headers, cells)
    else:
        _print_plain([list(headers), *cells])


def print_facts(facts: Iterable[tuple[str, object]]) -> None:
    """Names and values, one pair per line; absent values are left out."""
    pairs = [(name, _cell(value)) for name, value in facts if value is not None]
    width = max((len(name) for name, _ in pairs), default=0)
    for name, value in pairs:
        click.echo(f"{name:<{width}}  {value.replace(chr(10), chr(10) + ' ' * (width + 2))}")


def moment(ms: int | None) -> str:
    """An instant for people, in their own time zone."""
    return "" if ms is None else as_datetime(ms).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def moment_in(ms: int | None, zone: str) -> str:
    """A time of a schedule, which has a zone of its own: by the clock there, with the offset."""
    return "" if ms is None else moments.moment(ms, zone)


def span(ms: float | None) -> str:
    """A length of time for people."""
    if ms is None:
        return ""
    for unit_ms, unit in ((86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1_000, "s")):
        if ms >= unit_ms:
            return f"{ms / unit_ms:.1f}{unit}"
    return f"{ms:.0f}ms"


def compact(value: object) -> str | None:
    """A JSON value on one line; None when there is none."""
    return None if value is None else msgspec.json.encode(value).decode()


def answer(document: object, *, as_json: bool, show: Callable[[], None]) -> None:
    """The document itself, or what a person sees of it."""
    if as_json:
        print_json(document)
    else:
        show()


def answer_deleted(found: Sequence[Named], *, as_json: bool) -> None:
    """Which definitions are gone."""
    if as_json:
        print_json([{"uuid": one.uuid, "name": one.name} for one in found])
    else:
        talk(f"Deleted {', '.join(one.name for one in found)}.")


def _cell(value: object) -> str:
    return visible("" if value is None else str(value))


def _print_plain(lines: list[list[str]]) -> None:
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    for line in lines:
        click.echo("  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip())


def _print_rich_table(headers: Sequence[str], rows: list[list[str]]) -> None:
    from rich.console import Console

    console = Console()
    console.print(rich_table(headers, rows, width=console.width))
    if is_cut(headers, rows, console.width):
        talk("Ids are cut to fit this terminal; a wider one, a pipe or --json has them whole.")


def rich_table(headers: Sequence[str], rows: Sequence[Sequence[str]], *, width: int) -> "Table":
    """A table for a terminal of some width. If it does not fit, ids are cut to their ends, by which they are found too,
    and then columns of words are broken into lines, never those of figures and times."""
    from rich.table import Table
    from rich.text import Text

    cuts = is_cut(headers, rows, width)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for header in headers:
        table.add_column(header, no_wrap=header in _UNBROKEN, overflow="fold")
    for row in rows:
        cells = [_cut(text) if cuts and header in _IDS else text for header, text in zip(headers, row, strict=True)]
        table.add_row(*(Text(text, style=_STYLES.get(text, "")) for text in cells))
    return table


def is_cut(headers: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> bool:
    """Whether ids of a table must be cut for it to fit."""
    columns = list(zip(headers, *rows, strict=True))
    has_ids = any(header in _IDS and any(len(text) > _SHORT_ID for text in cells) for header, *cells in columns)
    needed = sum(max(map(len, column)) for column in columns) + 2 * (len(columns) - 1)
    return has_ids and needed > width


def _cut(text: str) -> str:
    return text[-_SHORT_ID:] if is_id(text) else text
