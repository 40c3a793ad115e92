"""An installation with a light scheduler on its store, whose clock is moved by hand."""

import asyncio
from typing import Any

from rota.clock import ManualClock
from rota.engine.definitions.built_in import LIGHT_JOB_TYPE, LIGHT_NODE_TYPE, ensure_built_in
from rota.engine.executors.executor import Run
from rota.engine.topics.light.executor import LightExecutor
from rota.engine.topics.light.in_store import StoreScheduler
from rota.engine.topics.light.scheduler import DefinitionQuery
from rota.model.runs.outcome import Outcome
from rota.model.topics.light.definition import TaskDefinition, read_definition
from rota.store import Store
from rota.store.contract.topics import TopicRow
from tests.engine.schedules.installation import SchedulesInstallation

HOST = "networknt.com"


class LightInstallation(SchedulesInstallation):
    """See the module."""

    def __init__(self, store: Store, clock: ManualClock | None = None) -> None:
        super().__init__(store, clock)
        self.light = StoreScheduler(self.engine)
        ensure_built_in(self.definitions, LIGHT_JOB_TYPE, self.clock.now())
        self.queue = self.definitions.node_type(LIGHT_NODE_TYPE).uuid

    def apply(self, **fields: Any) -> None:
        """Carry out a command; unless told, INSERT of `report` with the topic `reports`."""
        self.light.apply(read_definition({"host": HOST, "name": "report", "topic": "reports"} | fields))

    def definition(self, name: str = "report", host: str = HOST) -> TaskDefinition | None:
        found = self.light.find(DefinitionQuery(host, name)).definitions
        return found[0] if found else None

    def pass_time(self, ms: int, step: int = 1_000) -> None:
        """Let time go by; what becomes due is sent at every step."""
        for _ in range(ms // step):
            self.clock.advance(step)
            self.work()

    def work(self) -> None:
        """Fire what is due, and send it."""
        self.tick()
        for claim in self.claim():
            assert self.send(claim.spec).kind == "succeeded"
            self.end(claim)

    def send(self, spec: Any) -> Outcome:
        """One attempt at a job of a definition."""
        job_type = self.definitions.job_type(spec.job_type)
        return asyncio.run(_run_once(LightExecutor(self.engine), Run(spec, job_type, 1, lambda message, level: None)))

    def sent(self, topic: str = "reports") -> list[TopicRow]:
        page = self.store.read_topic(topic, offset=0, limit=1_000)
        return [] if page is None else page.rows

    def instants(self, topic: str = "reports") -> list[int]:
        """The nominal instants of what was sent."""
        return [row.record.value["start"] for row in self.sent(topic)]  # type: ignore[index]


async def _run_once(executor: LightExecutor, run: Run) -> Outcome:
    try:
        return await executor.run(run)
    finally:
        await executor.close()
