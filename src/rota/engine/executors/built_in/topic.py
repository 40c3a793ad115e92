"""Executor `topic`: publishes the job's arguments to a topic. The record's id is the job's, so that it is there once,
however often the job is tried."""

from typing import TYPE_CHECKING

from rota.engine.executors.executor import Run
from rota.engine.executors.metadata import check_keys
from rota.engine.executors.shortage import sparing_the_job
from rota.engine.topics.publish_batcher import PublishBatcher
from rota.engine.topics.topics import named_record
from rota.errors import InvalidInput
from rota.model.job_type import JobType
from rota.model.runs.outcome import Outcome, refused, succeeded
from rota.model.topics.topic import check_topic

if TYPE_CHECKING:
    from rota.clock import Clock
    from rota.engine.topics.topics import Publisher


class TopicExecutor:
    """`metadata.topic` is where to, `metadata.key` the argument that is the record's key. Only a node can run it: it
    has to be told who publishes."""

    def __init__(self, publisher: "Publisher | None" = None, clock: "Clock | None" = None) -> None:
        self._batcher = PublishBatcher(publisher) if publisher else None
        self._counts_once = publisher is not None and publisher.counts_once
        self._clock = clock

    def check(self, job_type: JobType) -> None:
        check_keys(job_type.metadata, ("topic", "key"))
        check_topic("metadata.topic", job_type.metadata.get("topic"))
        key = job_type.metadata.get("key", "")
        if not isinstance(key, str):
            raise InvalidInput("metadata.key", f"must be the name of an argument, got {key!r:.100}")

    async def run(self, run: Run) -> Outcome:
        if self._batcher is None or self._clock is None:
            return refused("topic", "this process publishes to no topics")
        try:
            self.check(run.job_type)
            topic, key = str(run.job_type.metadata["topic"]), run.job_type.metadata.get("key")
            value = run.spec.arguments
            record = named_record(run.spec.id, key=value.get(str(key)), value=value, now=self._clock.now())
            with sparing_the_job(counts_once=self._counts_once):
                offset = await self._batcher.publish(topic, record)
        except InvalidInput as error:
            return refused("topic", str(error))
        return succeeded({"topic": topic, "offset": offset})

    async def close(self) -> None:
        if self._batcher is not None:
            self._batcher.close()
