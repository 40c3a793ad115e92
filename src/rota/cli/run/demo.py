"""The demo of `rota up`: a few job types, and a handful of jobs now and then, so that something can be seen."""

from collections.abc import Iterator

from rota.engine.definitions.built_in import ensure_default_node_type
from rota.engine.definitions.definitions import Definitions
from rota.engine.jobs.intake import Intake, JobRequest
from rota.model.ids import new_id
from rota.model.job import Cause
from rota.model.job_type import JobType
from rota.model.runs.retry import RetryPolicy

PREFIX = "demo."
EVERY_S = 5.0
ROUNDS = 12
_CAUSE = Cause("demo")
_NAMES = ("Ada", "Grace", "Edsger", "Barbara", "Donald")
_COUNT = 'for i in 1 2 3; do echo "line $i of 3"; sleep 0.2; done'
_FLAKY = 'if [ $((RANDOM % 2)) = 0 ]; then echo "no luck this time" >&2; exit 1; fi; echo "it worked"'


class Demo:
    """A duty: `run_once` enqueues one round of jobs. It ends by itself after some rounds."""

    def __init__(self, definitions: Definitions, intake: Intake) -> None:
        self._definitions = definitions
        self._intake = intake
        self._round = 0

    @property
    def is_over(self) -> bool:
        return self._round >= ROUNDS

    def define(self, now: int) -> None:
        """Define what the demo runs, where it is not defined yet."""
        ensure_default_node_type(self._definitions, now)
        self._definitions.refresh()
        missing = [one for one in _job_types(now) if self._definitions.known_job_type(one.name) is None]
        if missing:
            self._definitions.define([], missing)

    def run_once(self, now: int) -> float:
        """One round; returns how many seconds the next one can wait."""
        name = _NAMES[self._round % len(_NAMES)]
        self._intake.enqueue(
            [
                JobRequest(job_type="demo.hello", arguments={"name": name}, cause=_CAUSE),
                JobRequest(job_type="demo.count", cause=_CAUSE),
                JobRequest(job_type="demo.flaky", delay_ms=1_000, cause=_CAUSE),
            ]
        )
        self._round += 1
        return EVERY_S


def is_wanted(definitions: Definitions) -> bool:
    """A store with job types of its own needs no demo, and may be somebody's production."""
    return all(one.name.startswith(PREFIX) for one in definitions.job_types())


def _job_types(now: int) -> Iterator[JobType]:
    yield JobType(
        uuid=new_id(now),
        name="demo.hello",
        executor="python",
        metadata={"function": "rota.cli.demo_jobs:hello"},
    )
    yield JobType(uuid=new_id(now), name="demo.count", executor="bash", metadata={"command": _COUNT})
    yield JobType(
        uuid=new_id(now),
        name="demo.flaky",
        executor="bash",
        metadata={"command": _FLAKY},
        retry=RetryPolicy(attempts=5, delay_ms=500),
    )
