"""Why something does not run: reads the facts, once, and lets the model judge. Nothing is written."""

from rota.clock import Clock
from rota.engine.definitions.definitions import Definitions
from rota.engine.events.configurations import Configurations
from rota.engine.jobs.changes import JobChanges
from rota.engine.node.options import SCHEDULER
from rota.engine.schedules.schedules import Schedules
from rota.engine.why.queue_facts import live_nodes, queue_facts
from rota.errors import NotFound
from rota.model.job import Job, JobState
from rota.model.job_type import JobType
from rota.model.schedules.ticking import Situation
from rota.model.why.answer import Answer
from rota.model.why.configuration import ConfigurationFacts, why_configuration
from rota.model.why.job import JobFacts, why_job
from rota.model.why.queue import why_queue
from rota.model.why.schedule import ScheduleFacts, why_schedule
from rota.store.contract.store import Store

UTC = "UTC"


class Why:
    """Answers. Sentences tell times in `zone`; those of a schedule in its own."""

    def __init__(
        self,
        store: Store,
        definitions: Definitions,
        jobs: JobChanges,
        schedules: Schedules,
        configurations: Configurations,
        clock: Clock,
    ) -> None:
        self._store = store
        self._definitions = definitions
        self._jobs = jobs
        self._schedules = schedules
        self._configurations = configurations
        self._clock = clock

    def job(self, job_id: str, *, zone: str = UTC) -> Answer:
        """Why a job is where it is."""
        return self.of_job(self._jobs.find(job_id), zone=zone)

    def of_job(self, job: Job, *, zone: str = UTC) -> Answer:
        """The same, of a job that was just read."""
        now, queue = self._clock.now(), job.spec.queue
        nodes = live_nodes(self._store, now)
        wait = self._store.read_wait(queue, job.id) if job.state is JobState.QUEUED else None
        facts = JobFacts(
            job=job,
            queue=queue_facts(self._store, self._definitions, queue, nodes, now),
            job_type=self._job_type(job.spec.job_type),
            node=next((node for node in nodes if node.uuid == job.node), None),
            ahead=wait.ahead if wait else 0,
            lock_holder=wait.lock_holder if wait else None,
            limited_until=wait.limited_until if wait else None,
            zone=zone,
        )
        return why_job(facts)

    def schedule(self, name: str) -> Answer:
        """Why a schedule, by name or uuid, does not fire."""
        entry, now = self._schedules.find(name), self._clock.now()
        nodes = live_nodes(self._store, now)
        situation = Situation(now=now, node="", live_jobs=entry.live_jobs, waiting_jobs=entry.waiting_jobs)
        facts = ScheduleFacts(
            schedule=entry.schedule,
            state=entry.state,
            situation=situation,
            queue=queue_facts(self._store, self._definitions, entry.schedule.queue, nodes, now),
            job_type=self._job_type(entry.schedule.job_type),
            has_scheduler=any(SCHEDULER in node.roles for node in nodes),
            last=next(iter(self._store.list_ticks(entry.schedule.uuid, limit=1)), None),
        )
        return why_schedule(facts)

    def configuration(self, name: str, *, zone: str = UTC) -> Answer:
        """Why a configuration, by name or uuid, does not fire."""
        entry, now = self._configurations.find(name), self._clock.now()
        configuration = entry.configuration
        nodes = live_nodes(self._store, now)
        facts = ConfigurationFacts(
            configuration=configuration,
            state=entry.state,
            queue=queue_facts(self._store, self._definitions, configuration.queue, nodes, now),
            job_type=self._job_type(configuration.job_type),
            last=next(iter(self._store.list_evaluations(configuration.uuid, limit=1)), None),
            zone=zone,
        )
        return why_configuration(facts)

    def queue(self, name: str) -> Answer:
        """Why nothing of a queue, by the name or uuid of its node type, begins."""
        self._definitions.refresh()
        queue, now = self._definitions.node_type(name).uuid, self._clock.now()
        return why_queue(queue_facts(self._store, self._definitions, queue, live_nodes(self._store, now), now))

    def _job_type(self, uuid: str) -> JobType | None:
        self._definitions.refresh()
        try:
            return self._definitions.current_job_type(uuid)
        except NotFound:
            return None
