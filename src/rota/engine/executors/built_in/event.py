"""Executor `event`: posts an event. A schedule that emits one makes such a job, so that the tick and the promise of its
event are written in one step, and the event comes at least once. Its id is the job's, so it counts once.
"""

import asyncio
from typing import TYPE_CHECKING

from rota.engine.executors.executor import Run
from rota.engine.executors.shortage import sparing_the_job
from rota.errors import InvalidInput
from rota.model.events.event import ANY_TYPE, Event, check_event_type, check_resource, make_event
from rota.model.job_type import JobType
from rota.model.runs.outcome import Outcome, refused, succeeded

if TYPE_CHECKING:
    from rota.clock import Clock
    from rota.engine.events.events import Events


class EventExecutor:
    """Takes the type and the resource from the job's arguments. Only a node can run it: it has to be told where."""

    def __init__(self, events: "Events | None" = None, clock: "Clock | None" = None) -> None:
        self._events = events
        self._clock = clock

    def check(self, job_type: JobType) -> None:
        if job_type.metadata:
            raise InvalidInput("metadata", "must be empty: type and resourceId are arguments of the job")

    async def run(self, run: Run) -> Outcome:
        if self._events is None or self._clock is None:
            return refused("event", "this process takes no events")
        try:
            event = _event_of(run, self._clock.now())
        except InvalidInput as error:
            return refused("arguments", str(error))
        with sparing_the_job():
            answer = await asyncio.to_thread(self._events.post, [event])
        return succeeded(
            {
                "validated": [one.configuration for one in answer.validated],
                "triggered": {one.configuration: one.job for one in answer.triggered},
            }
        )

    async def close(self) -> None:
        """Nothing to give up."""


def _event_of(run: Run, now: int) -> Event:
    """The event of a tick bears its nominal instant, also when it is posted late."""
    arguments, cause = run.spec.arguments, run.spec.cause
    nominal = cause.instant if cause and cause.instant is not None else run.spec.enqueued_at
    return make_event(
        id=run.spec.id,
        type=check_event_type("type", arguments.get("type"), (ANY_TYPE,)),
        resource=check_resource("resourceId", arguments.get("resourceId")),
        stated_time=nominal * 1_000,
        received_at=now,
        has_own_id=True,
    )
