"""An installation whose clock is moved by hand and whose schedules a test drives."""

from rota.clock import ManualClock
from rota.engine.schedules.ticker import Ticker
from rota.model.job import Claim, JobState, make_token
from rota.model.runs.outcome import failed, succeeded
from rota.model.runs.retry import RetryPolicy
from rota.model.runs.settlement import settle
from rota.model.schedules.request import ScheduleRequest
from rota.model.schedules.schedule import Tick
from rota.store import Store
from tests.installation import Installation

FULL = 1_700_000_040_000
"""A full minute."""
START = FULL + 1_000
MINUTE = 60_000
NODE = "0190b0c0-0000-7000-8000-00000000000a"


class SchedulesInstallation(Installation):
    """See the module."""

    clock: ManualClock

    def __init__(self, store: Store, clock: ManualClock | None = None) -> None:
        super().__init__(store, clock or ManualClock(START))
        self.schedules = self.engine.schedules
        self.backfills = self.engine.backfills
        self.ticker = Ticker(store, self.definitions, node=NODE)
        self._serial = 0

    def schedule(self, **wish: object) -> str:
        request = ScheduleRequest(**{"job_type": "report"} | wish)  # type: ignore[arg-type]
        return self.schedules.create(request).schedule.uuid

    def tick(self) -> float:
        return self.ticker.run_once(self.clock.now())

    def pass_time(self, ms: int, step: int = 1_000) -> None:
        """Let time go by, with a round of the ticker at every step."""
        for _ in range(ms // step):
            self.clock.advance(step)
            self.tick()

    def rows(self, uuid: str) -> list[Tick]:
        """Oldest first."""
        return self.store.list_ticks(uuid, limit=1_000)[::-1]

    def fates(self, uuid: str) -> list[str]:
        return [f"{row.status}:{row.reason}" if row.reason else row.status.value for row in self.rows(uuid)]

    def waiting(self) -> int:
        return self.store.count_jobs(self.queue)[JobState.QUEUED]

    def claim(self, limit: int = 100) -> list[Claim]:
        self._serial += 1
        token = make_token(NODE, self._serial)
        now = self.clock.now()
        return self.store.claim_jobs(self.queue, token=token, limit=limit, now=now).claims

    def end(self, claim: Claim, *, well: bool = True) -> None:
        outcome = succeeded() if well else failed("no")
        now = self.clock.now()
        done = settle(claim, outcome, policy=RetryPolicy(), started_at=now, now=now, chance=0)
        self.store.finish_jobs(self.queue, [done], now=now)
