"""In memory, for as long as the program runs."""

from rota.moving.apscheduler.jobstores.base import JobStore


class MemoryJobStore(JobStore):
    """The default."""

    def __init__(self) -> None:
        super().__init__("sqlite://:memory:")
