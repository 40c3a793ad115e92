"""`rota job-type`: what can be run."""

from collections.abc import Sequence

import click
from msgspec import structs

from rota.cli import parameters
from rota.cli.show import answer, answer_deleted, compact, print_facts, print_table, span
from rota.cli.target import Target, takes_target
from rota.engine.definitions.built_in import ensure_default_node_type
from rota.engine.definitions.definitions import DEFAULT_NODE_TYPE
from rota.engine.engine import Engine
from rota.errors import InvalidInput
from rota.model.ids import new_id
from rota.model.job_type import JobType, OnNodeDeath, Unique
from rota.model.rate import parse_rate
from rota.model.runs.retry import RetryPolicy
from rota.shapes.definitions import JobTypeShape, job_type_shape

Metadata = dict[str, object]


@click.group(name="job-type", short_help="What can be run: create, list, show, delete.")
def job_type() -> None:
    """What can be run. A job is one execution of a job type."""


@job_type.command(name="create")
@click.argument("name")
@click.argument("words", metavar="[-- PROGRAM ARGUMENT...]", nargs=-1)
@click.option("--executor", metavar="NAME", help="bash, python, log, or an installed one.")
@click.option("--metadata", metavar="JSON", callback=parameters.json_object, help="The executor's own settings.")
@click.option("--command", metavar="SCRIPT", help="A script for bash.")
@click.option("--function", metavar="MODULE:NAME", help="A Python function.")
@click.option("--node-type", default=DEFAULT_NODE_TYPE, show_default=True, help="The node type whose nodes run it.")
@click.option("--timeout", metavar="DURATION", callback=parameters.duration, help="Stop a run after this long.")
@click.option("--unique", type=click.Choice([one.value for one in Unique]), default=Unique.NONE.value)
@click.option("--attempts", type=int, default=1, show_default=True, help="Attempts in all, the first one included.")
@click.option("--retry-delay", metavar="DURATION", callback=parameters.duration, help="Wait before the second attempt.")
@click.option("--on-node-death", type=click.Choice([one.value for one in OnNodeDeath]), default="requeue")
@click.option("--rate", metavar="N/PERIOD", help="So many starts within a period at most: 10/m, 100/90s.")
@click.option("--rate-key", metavar="TEXT", default="", help="What the rate is for: {customer} is each customer.")
@click.option("--replace", is_flag=True, help="Change the job type if it exists.")
@click.option("--if-version", type=int, help="With --replace: only if it is still at this version.")
@takes_target
def create(
    target: Target,
    *,
    name: str,
    words: Sequence[str],
    executor: str | None,
    metadata: Metadata | None,
    command: str | None,
    function: str | None,
    node_type: str,
    timeout: int | None,
    unique: str,
    attempts: int,
    retry_delay: int | None,
    on_node_death: str,
    rate: str | None,
    rate_key: str,
    replace: bool,
    if_version: int | None,
) -> None:
    """Define what jobs of type NAME run.

    \b
    rota job-type create backup -- pg_dump -f /backup/shop.sql shop
    rota job-type create report --command 'make report | mail -s report me@example.org'
    rota job-type create resize --function shop.images:resize --attempts 3
    """
    if if_version is not None and not replace:
        raise click.UsageError("--if-version is about the job type that --replace changes; give both")
    kind, settings = _executor_and_metadata(executor, metadata, command=command, words=words, function=function)
    retry = RetryPolicy(attempts=attempts)
    if retry_delay is not None:
        retry = structs.replace(retry, delay_ms=retry_delay)
    with target.open(may_create=True) as rota:
        made = JobType(
            uuid=new_id(rota.clock.now()),
            name=name,
            executor=kind,
            metadata=settings,
            unique=Unique(unique),
            node_type=node_type,
            timeout_ms=timeout,
            retry=retry,
            on_node_death=OnNodeDeath(on_node_death),
            rate=parse_rate("rate", rate) if rate is not None else None,
            rate_key=rate_key,
        )
        kept = _define(rota, made, replace=replace, expected=if_version)
    answer(job_type_shape(kept), as_json=target.as_json, show=lambda: click.echo(kept.uuid))


def _executor_and_metadata(
    executor: str | None, metadata: Metadata | None, *, command: str | None, words: Sequence[str], function: str | None
) -> tuple[str, Metadata]:
    """What is said in short by a command or a function, and what is said in full."""
    shortcuts: list[tuple[str, str, object]] = []
    if command is not None:
        shortcuts.append(("bash", "command", command))
    if words:
        shortcuts.append(("bash", "command", list(words)))
    if function is not None:
        shortcuts.append(("python", "function", function))
    if len(shortcuts) > 1:
        raise click.UsageError("give one of --command, --function and a program after --")
    if not shortcuts:
        if executor is None:
            raise click.UsageError("say what to run: --command, --function, a program after --, or --executor")
        return executor, metadata or {}
    kind, key, value = shortcuts[0]
    if executor not in (None, kind):
        raise InvalidInput("executor", f"{executor!r} takes no {key}; leave --executor out, or give --metadata instead")
    return kind, {**(metadata or {}), key: value}


def _define(rota: Engine, made: JobType, *, replace: bool, expected: int | None) -> JobType:
    if made.node_type == DEFAULT_NODE_TYPE:
        ensure_default_node_type(rota.definitions, rota.clock.now())
    return rota.definitions.create_job_type(made, replace=replace, expected=expected)


@job_type.command(name="list")
@takes_target
def list_job_types(target: Target) -> None:
    """All job types."""
    with target.open() as rota:
        shapes = [job_type_shape(one) for one in rota.definitions.job_types()]
    answer(shapes, as_json=target.as_json, show=lambda: _show_list(shapes))


def _show_list(shapes: list[JobTypeShape]) -> None:
    rows = [(one.name, one.executor, one.node_type, compact(one.metadata)) for one in shapes]
    nothing = "No job types yet. Make one with: rota job-type create hello -- echo hello"
    print_table(("NAME", "EXECUTOR", "NODE TYPE", "METADATA"), rows, nothing=nothing)


@job_type.command()
@click.argument("name")
@takes_target
def show(target: Target, *, name: str) -> None:
    """One job type, by name or uuid."""
    with target.open() as rota:
        found = rota.definitions.job_type(name)
    answer(job_type_shape(found), as_json=target.as_json, show=lambda: _show_one(found))


def _show_one(one: JobType) -> None:
    print_facts(
        [
            ("name", one.name),
            ("uuid", one.uuid),
            ("executor", one.executor),
            ("metadata", compact(one.metadata)),
            ("node type", one.node_type),
            ("timeout", span(one.timeout_ms) or None),
            ("unique", one.unique.value),
            ("attempts", one.retry.attempts),
            ("on node death", one.on_node_death.value),
            ("rate", _rate_words(one)),
            ("owned by", one.managed_by or None),
            ("version", one.version),
        ]
    )


def _rate_words(one: JobType) -> str | None:
    if one.rate is None:
        return None
    return f"{one.rate.text} for {one.rate_key}" if one.rate_key else one.rate.text


@job_type.command()
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
@takes_target
def delete(target: Target, *, names: Sequence[str]) -> None:
    """Remove job types. Jobs of them that still wait will fail when they are run."""
    with target.open() as rota:
        found = rota.definitions.delete_job_type(*names)
    answer_deleted(found, as_json=target.as_json)
