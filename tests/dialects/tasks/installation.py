"""Tasks whose clock is moved by hand, and a worker that takes one run at a time."""

from collections.abc import Callable
from typing import TypeVar

from msgspec import structs

from rota.clock import ManualClock
from rota.dialects.tasks.entity.reading import read_task
from rota.dialects.tasks.entity.task import Task
from rota.dialects.tasks.entity.view import running_task
from rota.dialects.tasks.names import Names
from rota.dialects.tasks.tasks import Tasks
from rota.engine.schedules.ticker import Ticker
from rota.model.job import Claim, make_token
from rota.model.runs.outcome import failed, succeeded
from rota.model.runs.settlement import Settlement, settle
from rota.store import Store
from tests.installation import Installation

START = 1_700_000_041_000
NODE = "0190b0c0-0000-7000-8000-00000000000a"
Answer = TypeVar("Answer")


class TasksInstallation(Installation):
    """See the module."""

    clock: ManualClock

    def __init__(self, store: Store, prefix: str = "") -> None:
        super().__init__(store, ManualClock(START))
        self.tasks = Tasks(self.engine, Names(prefix))
        self._ticker = Ticker(store, self.definitions, node=NODE)
        self._serial = 0

    def add(self, id: str = "a", **options: object) -> Task:
        return self.tasks.add(read_task({"id": id, **options}))

    def find(self, id: str = "a") -> Task:
        found = self.tasks.find(id)
        assert found is not None, f"there is no task {id}"
        return found

    def pass_time(self, ms: int, step: int = 100) -> None:
        """Let time go by, with a round of the ticker at every step."""
        for _ in range(ms // step):
            self.clock.advance(step)
            self.tick()

    def tick(self) -> None:
        self._ticker.run_once(self.clock.now())

    def claim(self, limit: int = 1) -> list[Claim]:
        self._serial += 1
        token, now = make_token(NODE, self._serial), self.clock.now()
        return self.store.claim_jobs(self.tasks.queue(), token=token, limit=limit, now=now).claims

    def run(self, *, error: str | None = None, takes: int = 0) -> Task | None:
        """Do what a worker does with the next run: the task that it got, if there was any."""
        claims = self.claim()
        return self.end(claims[0], error=error, takes=takes) if claims else None

    def end(self, claim: Claim, *, error: str | None = None, takes: int = 0, removes: bool = True) -> Task:
        """Do what a worker does with a run that it has; without `removes`, one that dies right behind it."""
        task, done = self.settle(claim, error=error, takes=takes)
        self.store.finish_jobs(self.tasks.queue(), [done], now=self.clock.now())
        if removes:
            self.tasks.remove_completed([task.id])
        return task

    def settle(self, claim: Claim, *, error: str | None = None, takes: int = 0) -> tuple[Task, Settlement]:
        """The same, but the store is not told of the end yet."""
        cause = claim.spec.cause
        entry = self.store.find_schedules([cause.name])[0] if cause else None
        task = running_task(claim.spec, claim.attempt, entry)
        started_at = self.clock.now()
        self.clock.advance(takes)
        outcome = succeeded(self._commit(task)) if error is None else failed({"type": "E", "message": error})
        policy, now = self.definitions.job_type(claim.spec.job_type).retry, self.clock.now()
        return task, settle(claim, outcome, policy=policy, started_at=started_at, now=now, chance=0)

    def _commit(self, task: Task) -> dict[str, object]:
        return {"task": task.id, "runs": task.runs + 1, "completed": self.tasks.is_last_run(task)}

    def runs_within(self, ms: int, *, takes: int = 0) -> list[int]:
        """When runs began, from now on, if a worker takes each as soon as it can."""
        began = []
        for _ in range(ms // 100):
            self.pass_time(100)
            before = self.clock.now()
            while self.run(takes=takes) is not None:
                began.append(before - START)
                before = self.clock.now()
        return began


def changed(**changes: object) -> Callable[[Task], Task]:
    return lambda task: read_task(structs.replace(task, **changes))
