"""`rota completion`: what a shell needs to complete this command's verbs and options."""

import os
from pathlib import Path

import click
from click.shell_completion import get_completion_class

from rota.errors import InvalidInput

SHELLS = ("bash", "zsh", "fish")
_VARIABLE = "_ROTA_COMPLETE"


@click.command(short_help="Let the shell complete verbs and options.")
@click.argument("shell", type=click.Choice(SHELLS), required=False)
@click.option("--json", "as_json", is_flag=True, help="Answer with one JSON document.")
def completion(*, shell: str | None, as_json: bool) -> None:
    """Print what the shell needs to complete verbs and options; the shell is the one of SHELL, unless it is named.

    \b
    eval "$(rota completion)"                                    now; put it into ~/.bashrc or ~/.zshrc for good
    rota completion fish > ~/.config/fish/completions/rota.fish
    """
    from rota.cli.show import answer

    script = _script(shell or _own_shell())
    answer({"script": script}, as_json=as_json, show=lambda: click.echo(script))


def _own_shell() -> str:
    name = Path(os.environ.get("SHELL", "")).name
    if name not in SHELLS:
        raise InvalidInput("shell", f"this one is {name or 'not known'}; name it: rota completion {'|'.join(SHELLS)}")
    return name


def _script(shell: str) -> str:
    from rota.cli.main import cli

    found = get_completion_class(shell)
    assert found is not None, f"click does not know {shell}"
    complete = found(cli, {}, "rota", _VARIABLE)
    return complete.source_template % complete.source_vars()
