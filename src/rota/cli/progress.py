"""How far a long operation has come: a bar on a terminal's standard error, and nothing elsewhere."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click


@contextmanager
def progress_bar(label: str, total: int) -> Iterator[Callable[[int], None]]:
    """Gives what is to be called with how many are done."""
    if not sys.stderr.isatty():
        yield lambda done: None
        return
    with click.progressbar(length=total, label=f"{label:<8}", file=sys.stderr, show_pos=True) as bar:
        yield lambda done: bar.update(done - bar.pos)


@contextmanager
def progress_count(label: str, unit: str) -> Iterator[Callable[[int], None]]:
    """The same, where nobody knows how many there are in all: it only counts."""
    if not sys.stderr.isatty():
        yield lambda done: None
        return
    try:
        yield lambda done: click.echo(f"\r{label:<8}  {done} {unit}", nl=False, err=True)
    finally:
        click.echo(err=True)
