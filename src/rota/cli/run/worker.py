"""`rota worker`: runs jobs, in this process or in several that it supervises."""

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import click
from msgspec import Struct

from rota import __version__
from rota.cli.parameters import size
from rota.cli.run.banner import announce, warn
from rota.cli.show import print_facts, print_json
from rota.cli.target import Target, takes_target
from rota.engine.node.options import WORKER
from rota.engine.observation.happenings import JobsSettled
from rota.errors import InvalidInput
from rota.host.host import Host
from rota.host.hosting import hosted, make_cwd_importable
from rota.host.log_format import set_up_logging
from rota.host.supervision.line import LEAVING, READY, Line
from rota.settings import Settings

MOST_PROCESSES = 512
_ON_A_STORE = "a node works on the store itself"
Verb = TypeVar("Verb", bound=Callable[..., object])


class Life(Struct, frozen=True, kw_only=True):
    """What a process serves, how long it lives, and who looks after it."""

    queues: tuple[str, ...]
    """Beside the one of its settings."""
    burst: bool
    max_jobs: int | None
    max_memory: int | None
    supervised: int | None
    """The descriptor of its line to a supervisor."""


def takes_work(verb: Verb) -> Verb:
    """Whose jobs to run, and how many at a time."""
    verb = click.option("--threads", "--thread-count", "thread_count", type=int, help="Jobs at a time.")(verb)
    return click.option("--node-type", "--type", "node_type", metavar="NAME", help="The node type to serve.")(verb)


@click.command(short_help="Run jobs.")
@click.argument("app", metavar="[MODULE:APP]", required=False)
@takes_work
@click.option("--queue", "queues", multiple=True, metavar="NAME", help="A queue to serve; may be given several times.")
@click.option("--burst", is_flag=True, help="End as soon as nothing is left to run, now or later.")
@click.option("--processes", type=click.IntRange(1, MOST_PROCESSES), help="Work in so many processes, supervised.")
@click.option("--max-jobs", type=click.IntRange(1), help="Replace a process after so many jobs.")
@click.option("--max-memory", metavar="SIZE", callback=size, help="Replace a process that has so much, such as 500M.")
@click.option("--reload", is_flag=True, help="Replace the processes when a Python file below this folder changes.")
@click.option("--supervised", type=int, hidden=True, help="The descriptor of the line to the supervisor.")
@takes_target
def worker(
    target: Target,
    *,
    app: str | None,
    queues: tuple[str, ...],
    processes: int | None,
    reload: bool,
    burst: bool,
    max_jobs: int | None,
    max_memory: int | None,
    supervised: int | None,
    **flags: object,
) -> None:
    """Run jobs of one queue, which is a node type, or of several. Any number of workers may serve one store.

    With several --queue each has slots of its own: --threads for each, or as many as its node type says.

    With MODULE:APP, as in tasks:app, the store is that of a Python app, unless --store names another. What its tasks
    are is brought into the store, and its schedules are fired too.

    With --processes or --reload this process supervises others that run the jobs: TERM lets their jobs end, HUP
    replaces them one after the other. Without, --max-jobs and --max-memory end the worker.
    """
    flags["node_type"], others = _first_of(flags["node_type"], queues)
    if supervised is None and (processes is not None or reload):
        if app is None:
            target.refuse_server(_ON_A_STORE)
        sys.exit(_supervise(_settings_here(target, flags), target, processes or 1, is_burst=burst, reload=reload))
    life = Life(burst=burst, queues=others, max_jobs=max_jobs, max_memory=max_memory, supervised=supervised)
    with _opened(target, app, life, flags) as host:
        _live(host, target, life)


def _first_of(node_type: object, queues: Sequence[str]) -> tuple[object, tuple[str, ...]]:
    """The queue that a worker is of, and those that it serves too."""
    named = (*([] if node_type is None else [node_type]), *queues)
    return (named[0] if named else None), tuple(map(str, named[1:]))


def node_settings(target: Target, flags: Mapping[str, object]) -> Settings:
    """The settings of a node that has this process to itself, and whose log goes to standard error."""
    target.refuse_server(_ON_A_STORE)
    return _settings_here(target, flags)


def _settings_here(target: Target, flags: Mapping[str, object]) -> Settings:
    settings = target.settings_here(flags)
    set_up_logging(settings.log_level)
    return settings


@contextmanager
def _opened(target: Target, app_name: str | None, life: Life, flags: Mapping[str, object]) -> Iterator[Host]:
    if app_name is None:
        with hosted(node_settings(target, flags), frozenset({WORKER})) as host:
            host.serve_also(life.queues)
            yield host
        return
    from rota.sdk.tasks.loading import load_app

    make_cwd_importable()
    app = load_app(app_name)
    if target.named_store is None and app.url is not None:
        target = target.with_store(app.url)
    with app, app.worker(node_settings(target, flags), burst=life.burst, queues=life.queues) as host:
        yield host


def _live(host: Host, target: Target, life: Life) -> None:
    host.stops_when_empty = life.burst
    line = None if life.supervised is None else Line(life.supervised)
    if life.max_jobs is not None or life.max_memory is not None:
        _limit(host, life, line)
    if line is None:
        host.run(lambda: announce(host, demo=False, as_json=target.as_json))
        return
    _refuse_memory_store(host.settings)
    host.run(lambda: _begin(host, line))


def _limit(host: Host, life: Life, line: Line | None) -> None:
    from rota.host.supervision.limits import Limits

    def leave() -> None:
        if line is not None:
            line.say(LEAVING)
        host.request_stop()

    limits = Limits(max_jobs=life.max_jobs, max_memory=life.max_memory, on_reached=leave)
    host.duties.append(limits)
    if life.max_jobs is not None:
        host.engine.observers.add(JobsSettled, limits.count)


def _begin(host: Host, line: Line) -> None:
    line.watch(host.end_alone)
    line.say(READY)
    warn(host)


def _refuse_memory_store(settings: Settings) -> None:
    if settings.store.startswith("sqlite://:memory:"):
        raise InvalidInput("store", "a store in memory is that of one process; use a file, such as sqlite:///rota.db")


def _supervise(settings: Settings, target: Target, processes: int, *, is_burst: bool, reload: bool) -> int:
    from rota.clock import SystemClock
    from rota.host.supervision.changes import FileChanges
    from rota.host.supervision.supervisor import Supervisor

    supervisor = Supervisor(
        _own_command(sys.argv[1:]),
        processes=processes,
        is_burst=is_burst,
        clock=SystemClock(),
        changes=FileChanges(Path.cwd()) if reload else None,
    )
    return supervisor.run(lambda pids: _announce(settings, target, pids))


def _own_command(words: Sequence[str]) -> list[str]:
    """This command again, to which options can be added: no word may say that there are no more of them."""
    return [sys.executable, "-m", "rota", *(word for word in words if word != "--")]


def _announce(settings: Settings, target: Target, pids: list[int]) -> None:
    if target.as_json:
        print_json({"version": __version__, "pid": os.getpid(), "node_type": settings.node_type, "processes": pids})
    else:
        click.echo(f"Rota {__version__}: worker in {len(pids)} processes")
        print_facts([("node type", settings.node_type), ("processes", ", ".join(map(str, pids)))])
        click.echo("")
    sys.stdout.flush()
