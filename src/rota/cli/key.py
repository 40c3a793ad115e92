"""`rota key`: the API key."""

import click

from rota.cli.show import answer, talk
from rota.cli.target import Target, takes_target
from rota.server.keys import replace_key


@click.group(short_help="Make a new API key.")
def key() -> None:
    """The key that clients of the HTTP API show. Only its hash is kept."""


@key.command()
@takes_target
def create(target: Target) -> None:
    """Make a new key in place of the old one, which stops working within seconds."""
    with target.open(may_create=True) as rota:
        made = replace_key(rota.store)
        configured = rota.settings.api_key is not None
    answer({"api_key": made}, as_json=target.as_json, show=lambda: click.echo(made))
    talk("Keep it: only its hash is stored, so it cannot be shown again.")
    if configured:
        talk("Servers with a key in their settings (HTTP_API_KEY, ROTA_API_KEY or the file) take that one instead.")
