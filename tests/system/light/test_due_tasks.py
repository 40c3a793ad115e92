"""Due tasks of real nodes, also while those are killed without warning: each instant is on the topic, and once."""

import random
from collections import Counter

from rota.engine.definitions.built_in import LIGHT_NODE_TYPE
from rota.engine.topics.light.in_store import StoreScheduler
from rota.model.job import JobState
from rota.model.topics.light.definition import TaskDefinition, read_definition
from rota.store.contract.jobs import JobQuery
from tests.system.crew import Crew
from tests.system.installation import SystemInstallation

TOPIC = "due"
PERIOD_MS = 100
NODE = ("up", "--no-demo", "--port", "0")


class Tasks:
    """Definitions that all go to one topic, and what is there."""

    def __init__(self, installation: SystemInstallation, count: int) -> None:
        self._store = installation.store
        self._installation = installation
        self._light = StoreScheduler(installation.engine)
        start = installation.clock.now() + 1_000
        self._definitions = [self._definition(number, start) for number in range(count)]
        self._latest_first: dict[str, int] = {}
        for one in self._definitions:
            self._light.apply(one)
            # A start that has passed meanwhile only says where the series is anchored.
            self._latest_first[one.name] = max(start, installation.clock.now() + PERIOD_MS)

    @property
    def _queue(self) -> str:
        return self._installation.definitions.node_type(LIGHT_NODE_TYPE).uuid

    def _definition(self, number: int, start: int) -> TaskDefinition:
        frequency = {"timeUnit": "MILLISECONDS", "time": PERIOD_MS}
        fields = {"host": "h", "name": f"n{number}", "topic": TOPIC, "start": start, "frequency": frequency}
        return read_definition(fields)

    def sent(self) -> list[tuple[str, int]]:
        """Name and instant of each record."""
        rows, offset = [], 0
        while (page := self._store.read_topic(TOPIC, offset=offset, limit=1_000)) and page.rows:
            rows += [row.record.value for row in page.rows]
            offset = page.following
        return [(row["name"], row["start"]) for row in rows]  # type: ignore[index]

    def await_more(self, count: int) -> None:
        """Wait until so many more were sent."""
        wanted = len(self.sent()) + count
        self._installation.wait(lambda: len(self.sent()) >= wanted, f"{wanted} records")

    def stop(self) -> None:
        """Send nothing more, and wait for what is under way."""
        for one in self._definitions:
            self._light.apply(read_definition({"host": one.host, "name": one.name, "action": "DELETE"}))
        self._installation.wait(self._is_idle, "all jobs to end")

    def _is_idle(self) -> bool:
        """By one count: what the dead left goes from running to queued meanwhile, and would be seen in neither."""
        counts = self._store.count_jobs(self._queue)
        return not any(counts[state] for state in (JobState.DELAYED, JobState.QUEUED, JobState.RUNNING))

    def assert_each_instant_is_there_once(self) -> None:
        sent = self.sent()
        assert [one for one, times in Counter(sent).items() if times > 1] == []
        for definition in self._definitions:
            instants = sorted(instant for name, instant in sent if name == definition.name)
            first = instants[0]
            assert definition.start is not None
            assert definition.start <= first <= self._latest_first[definition.name]
            assert (first - definition.start) % PERIOD_MS == 0
            missing = set(range(first, instants[-1] + 1, PERIOD_MS)) - set(instants)
            assert not missing, f"{sorted(missing)} of {definition.name}, whose jobs are {self._jobs_of(missing)}"

    def _jobs_of(self, instants: set[int]) -> list[object]:
        """What became of them, of all definitions."""
        page = self._store.list_jobs(JobQuery(queue=self._queue), limit=1_000)
        causes = [(job.spec.cause, job) for job in page.jobs]
        return [(one.instant, job) for one, job in causes if one is not None and one.instant in instants]


def test_nodes_that_are_killed_lose_and_repeat_nothing(installation: SystemInstallation, crew: Crew) -> None:
    crew.hire_rota(*NODE)
    crew.hire_rota(*NODE)
    crew.await_beats(installation.store)
    tasks = Tasks(installation, 5)

    for _ in range(4):
        tasks.await_more(random.randint(20, 60))
        random.choice([worker for worker in crew.workers if worker.is_running]).kill9()
        crew.hire_rota(*NODE)
    tasks.await_more(50)
    tasks.stop()

    tasks.assert_each_instant_is_there_once()


def test_the_only_node_goes_on_where_it_was_killed(installation: SystemInstallation, crew: Crew) -> None:
    node = crew.hire_rota(*NODE)
    crew.await_beats(installation.store)
    tasks = Tasks(installation, 2)

    for _ in range(3):
        tasks.await_more(20)
        node.kill9()
        node = crew.hire_rota(*NODE)
    tasks.await_more(20)
    tasks.stop()

    tasks.assert_each_instant_is_there_once()


def test_a_long_job_makes_no_task_late(installation: SystemInstallation, crew: Crew) -> None:
    crew.hire_rota(*NODE, "--threads", "1")
    crew.await_beats(installation.store)
    (long,) = installation.enqueue_all([installation.work(600_000)])
    installation.wait(lambda: installation.job(long).state is JobState.RUNNING, "the long job to run")

    Tasks(installation, 1).await_more(3)

    assert installation.job(long).state is JobState.RUNNING
