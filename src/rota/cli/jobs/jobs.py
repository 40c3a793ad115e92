"""`rota jobs`, `rota job`, `rota cancel`, `rota retry`."""

from collections.abc import Sequence

import click

from rota.cli.jobs.job_ids import find_job, resolve_ids
from rota.cli.listing import jobs_up_to
from rota.cli.show import answer, compact, moment, print_facts, print_json, print_table, span, talk
from rota.cli.target import Target, takes_target
from rota.engine.engine import Engine
from rota.errors import Conflict, NotFound
from rota.model.job import Job, JobState
from rota.settings.machine_zone import machine_zone
from rota.shapes.jobs import AttemptShape, JobShape, ProgressShape, job_shape, progress_of_jobs
from rota.store.contract.jobs import CancelAnswer, JobQuery

_TOLD_IN_WORDS = ("type", "class", "message", "traceback")
_HEADERS = ("ID", "TYPE", "STATE", "QUEUE", "ENQUEUED", "TOOK", "ATTEMPTS")


@click.command(short_help="List jobs.")
@click.option("--state", type=click.Choice([state.value for state in JobState]), multiple=True, help="Only these.")
@click.option("--type", "job_type", metavar="NAME", help="Only jobs of this job type.")
@click.option("--queue", metavar="NAME", help="Only jobs of this node type.")
@click.option("--limit", type=click.IntRange(1, 1_000_000), default=50, show_default=True, help="At most this many.")
@click.option("--all", "everything", is_flag=True, help="All of them, however many.")
@takes_target
def jobs(
    target: Target, *, state: Sequence[str], job_type: str | None, queue: str | None, limit: int, everything: bool
) -> None:
    """List jobs: waiting ones in the order in which they will run, then running ones, then the latest that ended."""
    with target.open() as rota:
        query = JobQuery(
            queue=rota.definitions.node_type(queue).uuid if queue else None,
            states=frozenset(JobState(one) for one in state),
            job_type=rota.definitions.job_type(job_type).uuid if job_type else None,
        )
        found, is_cut = jobs_up_to(None if everything else limit, rota.store, query)
        shapes = _shapes(rota, found)
    answer(shapes, as_json=target.as_json, show=lambda: _show_jobs(shapes))
    if is_cut:
        talk(f"There are more than {limit}; --limit N or --all shows them.")


def _shapes(rota: Engine, found: Sequence[Job]) -> list[JobShape]:
    job_types, queues = rota.definitions.job_type_names(), rota.definitions.queue_names()
    progress = progress_of_jobs(rota.store, found)
    return [job_shape(one, job_types, queues, progress.get(one.id)) for one in found]


def _show_jobs(shapes: list[JobShape]) -> None:
    rows = [
        (
            one.uuid,
            one.job_type or one.job_type_uuid,
            one.state,
            one.node_type or one.node_type_uuid,
            moment(one.enqueued_at),
            span(took(one)),
            one.attempt,
        )
        for one in shapes
    ]
    print_table(_HEADERS, rows, nothing="No jobs.")


@click.command(short_help="Show one job.")
@click.argument("job_id", metavar="ID")
@takes_target
def job(target: Target, *, job_id: str) -> None:
    """Show one job. ID may be cut to its beginning or end."""
    with target.open() as rota:
        found = find_job(rota.store, job_id)
        shape = _shapes(rota, [found])[0]
        sentence = rota.why.of_job(found, zone=machine_zone()).lead.sentence
    answer(shape, as_json=target.as_json, show=lambda: show_job(shape, sentence))


def show_job(shape: JobShape, why: str) -> None:
    """Everything about one job, for people."""
    print_facts(
        [
            ("id", shape.uuid),
            ("type", shape.job_type or shape.job_type_uuid),
            ("state", f"{shape.state}, to be cancelled" if shape.cancel_requested else shape.state),
            ("why", why),
            ("queue", shape.node_type or shape.node_type_uuid),
            ("priority", shape.priority or None),
            ("progress", _progress_words(shape.progress)),
            ("attempts", _attempts_words(shape)),
            ("deaths", shape.deaths or None),
            ("enqueued", moment(shape.enqueued_at)),
            ("due", moment(shape.available_at) if shape.state == JobState.DELAYED else None),
            ("expires", moment(shape.expires_at) or None),
            ("started", moment(shape.started_at) or None),
            ("ended", moment(shape.ended_at) or None),
            ("took", span(took(shape)) or None),
            ("node", shape.executing_node),
            ("unique key", shape.unique_key),
            ("arguments", compact(shape.arguments)),
            ("cause", compact(shape.cause)),
            ("results", compact(shape.results)),
            *_error_facts(shape),
        ]
    )


def _error_facts(shape: JobShape) -> list[tuple[str, object]]:
    """What went wrong, in words; its traceback, line by line; and what else its executor tells."""
    errors = shape.errors if isinstance(shape.errors, dict) else {}
    more = {name: value for name, value in errors.items() if name not in _TOLD_IN_WORDS}
    return [("error", shape.error), ("traceback", errors.get("traceback") or None), ("errors", compact(more or None))]


def _progress_words(progress: ProgressShape | None) -> str | None:
    if progress is None:
        return None
    whole = "" if progress.total is None else f" of {progress.total:g} ({progress.percent} %)"
    return f"{progress.done:g}{whole}{': ' if progress.message else ''}{progress.message}"


def _attempts_words(shape: JobShape) -> str:
    """How many there were, and below that how each ended, if any failed."""
    lines = [str(shape.attempt)]
    if any(one.error for one in shape.attempts):
        lines += [_attempt_words(one) for one in shape.attempts]
    return "\n".join(lines)


def _attempt_words(one: AttemptShape) -> str:
    began = moment(one.started_at or one.ended_at)
    lasted = span(one.ended_at - one.started_at) if one.ended_at is not None and one.started_at is not None else ""
    how = one.error or ("ended well" if one.ended_at else "runs")
    return f"{one.attempt}  {began}  {lasted}{'  ' if lasted else ''}{' '.join(how.split())}"


def took(shape: JobShape) -> int | None:
    """Milliseconds between start and end."""
    started, ended = shape.started_at, shape.ended_at
    return None if started is None or ended is None else ended - started


@click.command(short_help="Cancel jobs, waiting or running.")
@click.argument("job_ids", metavar="ID...", nargs=-1, required=True)
@takes_target
def cancel(target: Target, *, job_ids: Sequence[str]) -> None:
    """Cancel jobs. A waiting one is cancelled at once; of a running one its node is told, which ends it."""
    with target.open() as rota:
        ids = resolve_ids(rota.store, job_ids)
        answers = [one.value for one in rota.jobs.cancel_each(ids)]
    _report(target, ids, answers)
    _refuse_unknown(ids, answers)
    final = [job_id for job_id, one in zip(ids, answers, strict=True) if one == CancelAnswer.FINAL]
    if final:
        raise Conflict(f"{', '.join(final)}: ended already, so there is nothing to cancel")


@click.command(short_help="Bring failed or cancelled jobs back.")
@click.argument("job_ids", metavar="ID...", nargs=-1, required=True)
@takes_target
def retry(target: Target, *, job_ids: Sequence[str]) -> None:
    """Bring failed or cancelled jobs back into their queue, as new."""
    with target.open() as rota:
        ids = resolve_ids(rota.store, job_ids)
        was_done = rota.jobs.retry_each(ids)
        answers = [
            JobState.QUEUED.value if done else _why_not(one)
            for done, one in zip(was_done, rota.store.find_jobs(ids), strict=True)
        ]
    _report(target, ids, answers)
    _refuse_unknown(ids, answers)
    if not all(was_done):
        raise Conflict("only failed and cancelled jobs can be brought back, while no other has their unique key")


def _why_not(one: Job | None) -> str:
    return CancelAnswer.UNKNOWN.value if one is None else f"still {one.state.value}"


def _report(target: Target, ids: Sequence[str], answers: Sequence[str]) -> None:
    pairs = list(zip(ids, answers, strict=True))
    if target.as_json:
        print_json([{"uuid": job_id, "answer": one} for job_id, one in pairs])
    else:
        print_table(("ID", "ANSWER"), pairs, nothing="")


def _refuse_unknown(ids: Sequence[str], answers: Sequence[str]) -> None:
    unknown = [job_id for job_id, one in zip(ids, answers, strict=True) if one == CancelAnswer.UNKNOWN]
    if unknown:
        raise NotFound("job", ", ".join(unknown), "`rota jobs` lists them")
