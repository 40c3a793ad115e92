"""Executor `light`: publishes one due task of a definition. The record's id is made of host, name and nominal instant,
so that it is there once, however often the job is tried."""

import asyncio
from typing import TYPE_CHECKING

import msgspec

from rota.engine.executors.executor import Run
from rota.errors import InvalidInput
from rota.model.job_type import JobType
from rota.model.light.definition import TaskDefinition, read_definition
from rota.model.light.fires import due_task, message_id
from rota.model.outcome import Outcome, refused, succeeded

if TYPE_CHECKING:
    from rota.engine.engine import Engine


class LightExecutor:
    """Takes the definition from the job's arguments. Only a node can run it: it has to be told where."""

    def __init__(self, engine: "Engine | None" = None) -> None:
        self._engine = engine

    def check(self, job_type: JobType) -> None:
        if job_type.metadata:
            raise InvalidInput("metadata", "must be empty: the arguments of the job are the task definition")

    async def run(self, run: Run) -> Outcome:
        if self._engine is None:
            return refused("topic", "this process publishes to no topics")
        try:
            task = _task_of(run)
            offset = await asyncio.to_thread(_send, self._engine, run, task)
        except InvalidInput as error:
            return refused("arguments", str(error))
        return succeeded({"topic": task.topic, "offset": offset})

    async def close(self) -> None:
        """Nothing to give up."""


def _task_of(run: Run) -> TaskDefinition:
    """The due task. One that is sent once bears the start that was asked for, however late it is."""
    definition, cause = read_definition(run.spec.arguments), run.spec.cause
    if definition.frequency is None:
        return definition
    return due_task(definition, cause.instant if cause and cause.instant is not None else run.spec.enqueued_at)


def _send(engine: "Engine", run: Run, task: TaskDefinition) -> int:
    from rota.engine.light.in_store import is_over
    from rota.engine.topics.topics import named_record

    id = message_id(task.key, task.start or 0)
    record = named_record(id, key=task.key._asdict(), value=msgspec.to_builtins(task), now=engine.clock.now())
    (offset,) = engine.topics.publish(task.topic, [record])
    uuid = run.spec.cause.name if run.spec.cause else None
    if task.frequency is None and uuid:
        left = engine.store.find_schedules([uuid])[0]
        if left is not None and is_over(left):
            engine.schedules.remove([left.schedule])
    return offset
