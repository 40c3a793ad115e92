"""Executor `light`: publishes one due task of a definition. The record's id is made of host, name and nominal instant,
so that it is there once, however often the job is tried."""

import asyncio

import msgspec

from rota.engine.engine import Engine
from rota.engine.executors.executor import Run
from rota.engine.executors.shortage import sparing_the_job
from rota.engine.topics.light.in_store import is_over
from rota.engine.topics.publish_batcher import PublishBatcher
from rota.engine.topics.topics import named_record
from rota.errors import InvalidInput
from rota.model.job_type import JobType
from rota.model.runs.outcome import Outcome, refused, succeeded
from rota.model.topics.light.definition import TaskDefinition, read_definition
from rota.model.topics.light.fires import due_task, message_id
from rota.model.topics.topic import TopicRecord


class LightExecutor:
    """Takes the definition from the job's arguments. Only a node can run it: it has to be told where."""

    def __init__(self, engine: Engine | None = None) -> None:
        self._engine = engine
        self._batcher = PublishBatcher(engine.topics) if engine else None

    def check(self, job_type: JobType) -> None:
        if job_type.metadata:
            raise InvalidInput("metadata", "must be empty: the arguments of the job are the task definition")

    async def run(self, run: Run) -> Outcome:
        if self._engine is None or self._batcher is None:
            return refused("topic", "this process publishes to no topics")
        try:
            task = _task_of(run)
            with sparing_the_job():
                offset = await self._batcher.publish(task.topic, _record_of(task, self._engine.clock.now()))
        except InvalidInput as error:
            return refused("arguments", str(error))
        if task.frequency is None and run.spec.cause:
            with sparing_the_job():
                await asyncio.to_thread(_remove_left, self._engine, run.spec.cause.name)
        return succeeded({"topic": task.topic, "offset": offset})

    async def close(self) -> None:
        if self._batcher is not None:
            self._batcher.close()


def _task_of(run: Run) -> TaskDefinition:
    """The due task. One that is sent once bears the start that was asked for, however late it is."""
    definition, cause = read_definition(run.spec.arguments), run.spec.cause
    if definition.frequency is None:
        return definition
    return due_task(definition, cause.instant if cause and cause.instant is not None else run.spec.enqueued_at)


def _record_of(task: TaskDefinition, now: int) -> TopicRecord:
    id = message_id(task.key, task.start or 0)
    return named_record(id, key=task.key._asdict(), value=msgspec.to_builtins(task), now=now)


def _remove_left(engine: Engine, uuid: str) -> None:
    """Forget the schedule of a task that was sent once. Nobody decided that, so it is no entry of the audit log."""
    left = engine.store.find_schedules([uuid])[0]
    if left is not None and is_over(left):
        engine.store.delete_schedules([uuid])
