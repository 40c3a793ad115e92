"""`rota key`: the keys of the HTTP API."""

from collections.abc import Sequence

import click

from rota.cli import parameters
from rota.cli.show import answer, moment, print_json, print_table, talk
from rota.cli.target import Target, takes_target
from rota.engine.access.keys.access import Role, Scope, read_scopes
from rota.engine.access.keys.admin_key import ADMIN_KEY, has_admin_key, replace_key, revoke_admin_key
from rota.engine.access.keys.named_keys import NamedKey, list_keys, make_key, revoke_key
from rota.engine.engine import Engine
from rota.errors import InvalidInput

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
            _create_named(target, rota, name, Role(role or Role.VIEWER), scopes, expires)
    talk(_SHOWN_ONCE)


def _create_admin(target: Target, rota: Engine) -> None:
    made = replace_key(rota.store)
    answer({"api_key": made}, as_json=target.as_json, show=lambda: click.echo(made))
    if target.settings().api_key is not None:
        talk("Servers with a key in their settings (HTTP_API_KEY, ROTA_API_KEY or the file) take that one instead.")


def _create_named(
    target: Target, rota: Engine, name: str, role: Role, scopes: Sequence[str], expires: int | None
) -> None:
    if name == ADMIN_KEY:
        raise InvalidInput("NAME", f"{ADMIN_KEY!r} is the first key; `rota key create` without a name makes it anew")
    now = rota.clock.now()
    made, record = make_key(
        rota.store,
        name,
        role=role,
        scopes=read_scopes(scopes, role),
        expires_at=None if expires is None else now + expires,
        now=now,
    )
    answer({"api_key": made, **_shape(record, now)}, as_json=target.as_json, show=lambda: click.echo(made))


@key.command(name="list")
@takes_target
def list_all(target: Target) -> None:
    """All keys, by name. Nobody can see the keys themselves."""
    with target.open() as rota:
        now = rota.clock.now()
        shapes = [_shape(one, now) for one in list_keys(rota.store)]
        if has_admin_key(rota.store):
            shapes.insert(0, _ADMIN_SHAPE)
    answer(shapes, as_json=target.as_json, show=lambda: _show(shapes))


_ADMIN_SHAPE: dict[str, object] = {
    "id": ADMIN_KEY,
    "name": ADMIN_KEY,
    "role": Role.ADMIN.value,
    "scopes": sorted(Scope),
    "made_at": None,
    "expires_at": None,
    "expired": False,
}


def _shape(one: NamedKey, now: int) -> dict[str, object]:
    return {
        "id": one.id,
        "name": one.name,
        "role": one.role.value,
        "scopes": sorted(one.scopes),
        "made_at": one.made_at,
        "expires_at": one.expires_at,
        "expired": not one.is_good(now),
    }


def _show(shapes: list[dict[str, object]]) -> None:
    rows = [
        (one["name"], one["role"], _words(one["scopes"]), _time(one["made_at"]), _time(one["expires_at"]))
        for one in shapes
    ]
    print_table(("NAME", "ROLE", "SCOPES", "MADE", "EXPIRES"), rows, nothing="No keys; a server makes the first one.")


def _words(scopes: object) -> str:
    named = scopes if isinstance(scopes, list) else []
    return "all" if len(named) == len(Scope) else ",".join(named)


def _time(ms: object) -> str:
    return moment(ms if isinstance(ms, int) else None)


@key.command()
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
@takes_target
def revoke(target: Target, *, names: Sequence[str]) -> None:
    """Forget keys, by name or id. Servers refuse them within seconds."""
    with target.open() as rota:
        for name in names:
            _revoke(rota, name)
    if target.as_json:
        print_json([{"name": name} for name in names])
    else:
        talk(f"Revoked {', '.join(names)}.")


def _revoke(rota: Engine, name: str) -> None:
    if name == ADMIN_KEY:
        revoke_admin_key(rota.store)
    else:
        revoke_key(rota.store, name)
