"""A group of verbs that knows their names and summaries, and imports a verb only when it is called.

So `rota --help` costs the import of click and nothing else.
"""

import importlib
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import NamedTuple

import click


class Verb(NamedTuple):
    """Where a verb is, and what it does in a few words."""

    place: str
    """`module:attribute`."""
    summary: str


Sections = Mapping[str, Mapping[str, Verb]]
"""Title of a section to its verbs by name."""


class LazyGroup(click.Group):
    """See the module."""

    def __init__(self, *, name: str, sections: Sections, **options: object) -> None:
        super().__init__(name, **options)  # type: ignore[arg-type]
        self.sections = sections
        self._verbs = {verb: where for verbs in sections.values() for verb, where in verbs.items()}

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._verbs)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        verb = self._verbs.get(cmd_name)
        if verb is None:
            return None
        module, _, attribute = verb.place.partition(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in self._verbs and not args[0].startswith("-") and not ctx.resilient_parsing:
            raise click.UsageError(f"no command {args[0]!r}; {nearest(args[0], self._verbs)}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, verbs in self.sections.items():
            with formatter.section(title):
                formatter.write_dl([(name, verb.summary) for name, verb in verbs.items()])


def nearest(name: str, known: Iterable[str]) -> str:
    """What to try instead of an unknown name."""
    close = get_close_matches(name, list(known), n=1, cutoff=0.5)
    return f"did you mean {close[0]!r}?" if close else "see: rota --help"
