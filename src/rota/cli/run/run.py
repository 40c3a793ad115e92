"""`rota up`, `rota worker`, `rota scheduler`, `rota server`: one process, with one or several roles."""

import logging
from collections.abc import Callable, Mapping
from typing import TypeVar

import click

from rota.cli.run.banner import announce
from rota.cli.run.demo import Demo, is_wanted
from rota.cli.target import Target, takes_target
from rota.engine.definitions.definitions import DEFAULT_NODE_TYPE
from rota.engine.node.options import SCHEDULER, WORKER
from rota.host.host import SERVER, Host, hosted, make_cwd_importable
from rota.host.log_format import set_up_logging
from rota.settings import Settings

Verb = TypeVar("Verb", bound=Callable[..., object])


def takes_address(verb: Verb) -> Verb:
    """Where the server listens."""
    verb = click.option("--port", type=int, help="Port; 0 takes any free one.  [default: 23071]")(verb)
    return click.option("--host", metavar="ADDRESS", help="Address to listen on.  [default: 127.0.0.1]")(verb)


def takes_work(verb: Verb) -> Verb:
    """Whose jobs to run, and how many at a time."""
    verb = click.option("--threads", "--thread-count", "thread_count", type=int, help="Jobs at a time.")(verb)
    return click.option("--node-type", "--type", "node_type", metavar="NAME", help="The node type to serve.")(verb)


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
    settings = _settings(target, flags)
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


@click.command(short_help="Run jobs of one node type.")
@click.argument("app", metavar="[MODULE:APP]", required=False)
@takes_work
@click.option("--burst", is_flag=True, help="End as soon as nothing is left to run.")
@takes_target
def worker(target: Target, *, app: str | None, burst: bool, **flags: object) -> None:
    """Run jobs of one node type. Any number of workers may serve one store.

    With MODULE:APP, as in tasks:app, the store is that of a Python app, unless --store names another. What its tasks
    are is brought into the store, and its schedules are fired too.
    """
    if app is not None:
        _run_app(target, app, burst=burst, flags=flags)
        return
    with hosted(_settings(target, flags), frozenset({WORKER})) as host:
        host.stops_when_empty = burst
        host.run(lambda: announce(host, demo=False, as_json=target.as_json))


def _run_app(target: Target, name: str, *, burst: bool, flags: dict[str, object]) -> None:
    from rota.sdk.tasks.loading import load_app

    make_cwd_importable()
    app = load_app(name)
    if target.named_store is None and app.url is not None:
        target = target.with_store(app.url)
    with app, app.worker(_settings(target, flags), burst=burst) as host:
        host.run(lambda: announce(host, demo=False, as_json=target.as_json))


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


def _settings(target: Target, flags: Mapping[str, object]) -> Settings:
    """The settings of a node that has this process to itself, and whose log goes to standard error."""
    settings = target.settings(flags)
    set_up_logging(settings.log_level)
    return settings


def _host_role(target: Target, flags: Mapping[str, object], role: str) -> None:
    def read() -> Settings:
        return target.settings(flags)

    with hosted(_settings(target, flags), frozenset({role}), read_again=read) as host:
        host.run(lambda: announce(host, demo=False, as_json=target.as_json))
