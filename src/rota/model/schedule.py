"""A schedule: a time trigger that makes jobs. This is seed 001's item: a least distance between two jobs."""

from msgspec import Struct

from rota.model.limits import check_payload, check_range

MAX_INTERVAL_MS = 10 * 365 * 24 * 3600 * 1000


class Schedule(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Makes a job of a type whenever `interval` milliseconds have passed since it last did."""

    uuid: str
    interval: int
    job_type: str
    """Uuid of the job type."""
    arguments: dict[str, object] = {}
    last_scheduled_by: str | None = None
    """Uuid of the node that last made its job; None before the first."""
    last_scheduled_at: int | None = None

    def check(self) -> None:
        check_range("interval", self.interval, 1, MAX_INTERVAL_MS)
        check_payload("job_arguments", self.arguments)

    def next_due(self, now: int) -> int:
        """When it makes its next job: at once if it never did; what was missed is not made up for."""
        if self.last_scheduled_at is None:
            return now
        return max(now, self.last_scheduled_at + self.interval)
