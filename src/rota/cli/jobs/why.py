"""`rota why`: what is in the way of a job, schedule, configuration or queue. Those who wait for a job are told too."""

from collections.abc import Callable
from contextlib import suppress

import click

from rota.cli.jobs.job_ids import find_job
from rota.cli.show import answer, talk
from rota.cli.target import Target, takes_target
from rota.engine.engine import Engine
from rota.errors import InvalidInput, NotFound
from rota.host.terminal import visible
from rota.model.job import Job, JobState
from rota.model.why.answer import Answer, Code
from rota.settings.machine_zone import machine_zone
from rota.shapes.why import WhyShape, why_shape

TELL_AFTER_S = 2.0
_ASK_EVERY_S = 1.0
_KINDS = ("job", "schedule", "configuration", "queue")


@click.command(short_help="Say why a job, schedule, configuration or queue does not run.")
@click.argument("name", metavar="ID|NAME")
@click.option("--kind", type=click.Choice(_KINDS), help="What NAME is, if it is the name of several things.")
@takes_target
def why(target: Target, *, name: str, kind: str | None) -> None:
    """Say why something does not run: a job by its id, which may be cut to its beginning or end, a schedule, a
    configuration or a queue by name or uuid."""
    with target.open() as rota:
        shape = why_shape(_ask(rota, name, kind))
    answer(shape, as_json=target.as_json, show=lambda: _show(shape))


def _ask(rota: Engine, name: str, kind: str | None) -> Answer:
    """Names come first: an id that is cut may look like anything."""
    ways: dict[str, Callable[[], Answer]] = {
        "schedule": lambda: rota.why.schedule(name),
        "configuration": lambda: rota.why.configuration(name, zone=machine_zone()),
        "queue": lambda: rota.why.queue(name),
        "job": lambda: rota.why.of_job(find_job(rota.store, name), zone=machine_zone()),
    }
    if kind is not None:
        return ways[kind]()
    found: dict[str, Answer] = {}
    for each in ("schedule", "configuration", "queue"):
        with suppress(NotFound):
            found[each] = ways[each]()
    if len(found) > 1:
        raise InvalidInput("name", f"{name!r} is a {' and a '.join(found)}; say which with --kind")
    return next(iter(found.values())) if found else _ask_job(rota, name, ways["job"])


def _ask_job(rota: Engine, name: str, ask: Callable[[], Answer]) -> Answer:
    rota.definitions.refresh()
    if rota.definitions.known_job_type(name):
        raise InvalidInput("name", f"{name!r} is a job type; ask about one of its jobs: `rota jobs --type {name}`")
    try:
        return ask()
    except (InvalidInput, NotFound) as error:
        hint = f"as a job: {error}"
        raise NotFound("job, schedule, configuration or queue", name, hint) from None


def _show(shape: WhyShape) -> None:
    click.echo(visible(shape.sentence))
    for one in shape.also:
        click.echo(f"Also: {visible(one.sentence)}")


class Teller:
    """Says on standard error why a job that is waited for does not run yet, and again when the reason is another."""

    def __init__(self, rota: Engine) -> None:
        self._rota = rota
        self._ask_at = rota.clock.monotonic() + TELL_AFTER_S
        self._told: Code | None = None

    def __call__(self, job: Job) -> None:
        now = self._rota.clock.monotonic()
        if now < self._ask_at or job.state not in (JobState.QUEUED, JobState.DELAYED):
            return
        self._ask_at = now + _ASK_EVERY_S
        reason = self._rota.why.of_job(job, zone=machine_zone()).lead
        if reason.code is not self._told:
            talk(visible(reason.sentence))
        self._told = reason.code
