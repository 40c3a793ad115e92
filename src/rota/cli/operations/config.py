"""`rota config` and `rota version`: what is in force here."""

import platform
import sqlite3

import click

from rota import __version__
from rota.cli.show import answer, print_facts, print_table, talk
from rota.cli.target import Target, takes_target
from rota.settings import Settings


@click.command(short_help="Show the settings in force and where they came from.")
@takes_target
def config(target: Target) -> None:
    """Show every setting, its value and where it came from. Secrets are masked."""
    target.refuse_server_option("these are the settings of this machine")
    settings = target.settings_here()
    described = settings.described()
    shapes = [{"name": name, "value": _native(settings, name, shown), "source": at} for name, shown, at in described]
    answer(shapes, as_json=target.as_json, show=lambda: print_table(("NAME", "VALUE", "SOURCE"), described, nothing=""))
    if settings.config_file is None and not target.as_json:
        talk("No configuration file was found; rota.yaml would be one.")


def _native(settings: Settings, name: str, shown: str) -> object:
    """Numbers and truth as they are; text as it is shown, that is masked."""
    value = getattr(settings, name)
    return value if value is None or isinstance(value, bool | int | float) else shown


@click.command(short_help="Show versions.")
@takes_target
def version(target: Target) -> None:
    """Show the versions of Rota and of what it stands on."""
    versions = {"rota": __version__, "python": platform.python_version(), "sqlite": sqlite3.sqlite_version}
    answer(versions, as_json=target.as_json, show=lambda: print_facts(versions.items()))
