"""`rota enqueue`: makes a job, and waits for it if asked to."""

from collections.abc import Callable

import click
from msgspec import structs

from rota.cli import parameters
from rota.cli.jobs.jobs import show_job, took
from rota.cli.jobs.logs import print_entry
from rota.cli.jobs.why import Teller
from rota.cli.show import print_json, span, talk
from rota.cli.target import Target, takes_target
from rota.engine.engine import Engine
from rota.engine.jobs.intake import JobRequest
from rota.engine.jobs.watch import WaitedTooLong, Watch
from rota.errors import StoreError
from rota.host.terminal import visible
from rota.model.job import JobState
from rota.model.runs.log import LogEntry
from rota.model.runs.retry import RetryPolicy
from rota.settings.machine_zone import machine_zone
from rota.shapes.jobs import JobShape, job_shape
from rota.store.contract.jobs import Admission

JOB_FAILED = 1
TIMED_OUT = 124


@click.command(short_help="Make a job; wait for it or follow its log.")
@click.argument("job_type", metavar="TYPE")
@click.argument("words", metavar="[KEY=VALUE]...", nargs=-1, callback=parameters.pairs)
@click.option("--arguments", metavar="JSON", callback=parameters.json_object, help="Arguments as a JSON object.")
@click.option("--priority", type=int, default=0, help="Higher runs first.")
@click.option("--delay", metavar="DURATION", callback=parameters.duration, help="Not before this long: 500ms, 5s, 2h.")
@click.option("--at", metavar="TIME", callback=parameters.instant, help="Not before this: ISO 8601 or epoch ms.")
@click.option("--expires", metavar="DURATION", callback=parameters.duration, help="Cancel it unless it began by then.")
@click.option("--unique-key", metavar="KEY", help="While a live job has this key, make no other.")
@click.option("--timeout", metavar="DURATION", callback=parameters.duration, help="Stop it after this long.")
@click.option("--attempts", type=int, help="Attempts in all, the first one included.")
@click.option("--wait", is_flag=True, help="Wait until it has ended; exit code 1 unless it succeeded.")
@click.option("--follow", is_flag=True, help="Show its log meanwhile; implies --wait.")
@click.option("--timeout-wait", metavar="DURATION", callback=parameters.duration, help="Wait this long at most.")
@takes_target
def enqueue(
    target: Target,
    *,
    job_type: str,
    words: dict[str, object],
    arguments: dict[str, object] | None,
    priority: int,
    delay: int | None,
    at: int | None,
    expires: int | None,
    unique_key: str | None,
    timeout: int | None,
    attempts: int | None,
    wait: bool,
    follow: bool,
    timeout_wait: int | None,
) -> int:
    """Make a job of TYPE and print its id.

    Arguments are given as key=value: a value that reads as JSON is taken as such, any other is text.
    """
    with target.open() as rota:
        request = JobRequest(
            job_type=job_type,
            arguments={**(arguments or {}), **words},
            priority=priority,
            delay_ms=delay,
            run_at=at,
            expires_ms=expires,
            unique_key=unique_key,
            timeout_ms=timeout,
            retry=_retry(rota, job_type, attempts),
        )
        admission = rota.intake.enqueue([request])[0]
        if not wait and not follow:
            return _answer(target, admission)
        timeout_s = None if timeout_wait is None else timeout_wait / 1000
        return _await_end(target, rota, admission, follow=follow, timeout_s=timeout_s)


def _retry(rota: Engine, job_type: str, attempts: int | None) -> RetryPolicy | None:
    """The job type's own policy, with another number of attempts."""
    if attempts is None:
        return None
    return structs.replace(rota.definitions.job_type(job_type).retry, attempts=attempts)


def _answer(target: Target, admission: Admission) -> int:
    if target.as_json:
        print_json({"uuid": admission.job_id, "is_new": admission.is_new})
    else:
        _print_id(admission)
    return 0


def _print_id(admission: Admission) -> None:
    click.echo(admission.job_id)
    if not admission.is_new:
        talk("Not made anew: this job has its unique key.")


def _await_end(target: Target, rota: Engine, admission: Admission, *, follow: bool, timeout_s: float | None) -> int:
    try:
        if not target.as_json:
            _print_id(admission)
        watch = Watch(rota.store, admission.job_id, rota.clock, timeout_s)
        job = watch.until_ended(_printer(target) if follow else None, meanwhile=Teller(rota))
    except WaitedTooLong:
        talk(f"error: still waiting for {admission.job_id} after {timeout_s:g} s; it goes on without us")
        return TIMED_OUT
    except (KeyboardInterrupt, StoreError):  # with --json its id was not told yet
        talk(f"\nThe job goes on. Follow it with: rota logs -f {admission.job_id}")
        raise
    shape = job_shape(job, rota.definitions.job_type_names(), rota.definitions.queue_names())
    if target.as_json:
        print_json({"is_new": admission.is_new, **structs.asdict(shape)})
    elif follow:
        talk(_outcome(shape))
    else:
        show_job(shape, rota.why.of_job(job, zone=machine_zone()).lead.sentence)
    return 0 if job.state is JobState.SUCCEEDED else JOB_FAILED


def _outcome(shape: JobShape) -> str:
    """How it ended, in one line."""
    after = span(took(shape))
    return visible(f"{shape.state}{f' after {after}' if after else ''}{f': {shape.error}' if shape.error else ''}")


def _printer(target: Target) -> Callable[[LogEntry], None]:
    """With --json the log is talk, so that standard output stays one document."""

    def to_stderr(entry: LogEntry) -> None:
        talk(visible(entry.message))

    return to_stderr if target.as_json else print_entry
