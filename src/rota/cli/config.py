"""`rota config` and `rota version`: what is in force here."""

import platform
import sqlite3

import click

from rota import __version__
from rota.cli.show import answer, print_facts, print_table, talk
from rota.cli.target import Target, takes_target


@click.command(short_help="Show the settings in force and where they came from.")
@takes_target
def config(target: Target) -> None:
    """Show every setting, its value and where it came from. Secrets are masked."""
    settings = target.settings()
    described = settings.described()
    shapes = [{"name": name, "value": value, "source": source} for name, value, source in described]
    answer(shapes, as_json=target.as_json, show=lambda: print_table(("NAME", "VALUE", "SOURCE"), described, nothing=""))
    if settings.config_file is None and not target.as_json:
        talk("No configuration file was found; rota.yaml would be one.")


@click.command(short_help="Show versions.")
@takes_target
def version(target: Target) -> None:
    """Show the versions of Rota and of what it stands on."""
    versions = {"rota": __version__, "python": platform.python_version(), "sqlite": sqlite3.sqlite_version}
    answer(versions, as_json=target.as_json, show=lambda: print_facts(versions.items()))
