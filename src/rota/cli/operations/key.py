"""`rota key`: the keys of the HTTP API."""

from collections.abc import Sequence

import click

from rota.cli import parameters
from rota.cli.show import answer, moment, print_json, print_table, talk
from rota.cli.target import Target, takes_target
from rota.engine.access.keys.access import Role, Scope
from rota.engine.engine import Engine
from rota.errors import InvalidInput
from rota.shapes.keys import KeyShape, key_shape, new_key_shape

_SHOWN_ONCE = "Keep it: only its hash is stored, so it cannot be shown again."


@click.group(short_help="Make, list and revoke API keys.")
def key() -> None:
    """The keys that clients of the HTTP API show. Only their hashes are kept."""


@key.command()
@click.argument("name", required=False)
@click.option("--role", type=click.Choice([role.value for role in Role]), help="What it may do.  [default: viewer]")
@click.option("--scope", "scopes", multiple=True, metavar="SCOPE", help=f"Only this: {', '.join(Scope)}.")
@click.option("--expires", metavar="DURATION", callback=parameters.duration, help="Works for this long: 90d, 12h.")
@takes_target
def create(target: Target, *, name: str | None, role: str | None, scopes: Sequence[str], expires: int | None) -> None:
    """Make a key and show it once.

    Without NAME it is a new admin key in place of the old one, which stops working within seconds.

    \b
    rota key create grafana --scope metrics:r
    rota key create shop --role operator --scope jobs:w --expires 90d
    """
    with target.open(may_create=True) as rota:
        if name is None:
            if role or scopes or expires is not None:
                raise InvalidInput("NAME", "is needed for a key with a role, scopes or an end")
            _create_admin(target, rota)
        else:
            made, entry = rota.keys.create(name, role=Role(role or Role.VIEWER), scopes=scopes, lives_ms=expires)
            answer(new_key_shape(made, entry), as_json=target.as_json, show=lambda: click.echo(made))
    talk(_SHOWN_ONCE)


def _create_admin(target: Target, rota: Engine) -> None:
    made = rota.keys.replace_admin()
    answer({"api_key": made}, as_json=target.as_json, show=lambda: click.echo(made))
    if target.settings().api_key is not None:
        talk("Servers with a key in their settings (HTTP_API_KEY, ROTA_API_KEY or the file) take that one instead.")


@key.command(name="list")
@takes_target
def list_all(target: Target) -> None:
    """All keys, by name. Nobody can see the keys themselves."""
    with target.open() as rota:
        shapes = [key_shape(one) for one in rota.keys.list()]
    answer(shapes, as_json=target.as_json, show=lambda: _show(shapes))


def _show(shapes: Sequence[KeyShape]) -> None:
    rows = [(one.name, one.role, _words(one.scopes), moment(one.made_at), moment(one.expires_at)) for one in shapes]
    print_table(("NAME", "ROLE", "SCOPES", "MADE", "EXPIRES"), rows, nothing="No keys; a server makes the first one.")


def _words(scopes: Sequence[Scope]) -> str:
    return "all" if len(scopes) == len(Scope) else ",".join(scopes)


@key.command()
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
@takes_target
def revoke(target: Target, *, names: Sequence[str]) -> None:
    """Forget keys, by name or id. Servers refuse them within seconds."""
    with target.open() as rota:
        for name in names:
            rota.keys.revoke(name)
    if target.as_json:
        print_json([{"name": name} for name in names])
    else:
        talk(f"Revoked {', '.join(names)}.")
