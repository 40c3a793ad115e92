"""`rota up`, `rota scheduler`, `rota server`: one process, with one or several roles."""

import logging
from collections.abc import Callable, Mapping
from typing import TypeVar

import click

from rota.cli.run.banner import announce
from rota.cli.run.demo import Demo, is_wanted
from rota.cli.run.worker import node_settings, takes_work
from rota.cli.target import Target, takes_target
from rota.engine.definitions.definitions import DEFAULT_NODE_TYPE
from rota.engine.node.options import SCHEDULER, WORKER
from rota.host.host import SERVER, Host
from rota.host.hosting import hosted
from rota.settings import Settings

Verb = TypeVar("Verb", bound=Callable[..., object])


def takes_address(verb: Verb) -> Verb:
    """Where the server listens."""
    verb = click.option("--port", type=int, help="Port; 0 takes any free one.  [default: 23071]")(verb)
    return click.option("--host", metavar="ADDRESS", help="Address to listen on.  [default: 127.0.0.1]")(verb)


def takes_kafka(verb: Verb) -> Verb:
    """Whether Kafka keeps the light scheduler's definitions."""
    help = "Brokers that keep the light scheduler's task definitions, such as kafka1:9092,kafka2:9092."
    return click.option("--kafka", metavar="BROKERS", callback=_words, help=help)(verb)


def _words(context: click.Context, parameter: click.Parameter, found: str | None) -> list[str] | None:
    return None if found is None else [word.strip() for word in found.split(",") if word.strip()]


@click.command(short_help="Scheduler, worker and server in one process.")
@takes_address
@takes_work
@takes_kafka
@click.option("--demo/--no-demo", default=None, help="Run a few demo jobs.  [default: on a store without job types]")
@takes_target
def up(target: Target, *, demo: bool | None, **flags: object) -> None:
    """Run everything in this process: scheduler, worker and server, on SQLite unless told otherwise."""
    settings = node_settings(target, flags)
    roles = frozenset(settings.roles) if settings.server_enabled else frozenset(settings.roles) - {SERVER}
    with hosted(settings, roles, read_again=lambda: target.settings(flags)) as host:
        shows_demo = _can_show_demo(host) if demo is None else demo
        if shows_demo:
            _add_demo(host)
        host.run(lambda: announce(host, demo=shows_demo, as_json=target.as_json))


def _can_show_demo(host: Host) -> bool:
    runs_default_jobs = WORKER in host.roles and host.settings.node_type == DEFAULT_NODE_TYPE
    return runs_default_jobs and not host.settings.kafka and is_wanted(host.engine.definitions)


def _add_demo(host: Host) -> None:
    demo = Demo(host.engine.definitions, host.engine.intake)
    demo.define(host.engine.clock.now())
    host.duties.append(demo)
    logging.getLogger("rota.jobs").setLevel(logging.DEBUG)


@click.command(short_help="Fire schedules and do housekeeping, without running jobs.")
@takes_target
def scheduler(target: Target) -> None:
    """Fire schedules, take back jobs of dead nodes and trim history, without running jobs. Any number may run."""
    _host_role(target, {}, SCHEDULER)


@click.command(short_help="Serve the HTTP API, without running jobs.")
@takes_address
@takes_kafka
@takes_target
def server(target: Target, **flags: object) -> None:
    """Serve the HTTP API, without running jobs."""
    _host_role(target, flags, SERVER)


def _host_role(target: Target, flags: Mapping[str, object], role: str) -> None:
    def read() -> Settings:
        return target.settings(flags)

    with hosted(node_settings(target, flags), frozenset({role}), read_again=read) as host:
        host.run(lambda: announce(host, demo=False, as_json=target.as_json))
