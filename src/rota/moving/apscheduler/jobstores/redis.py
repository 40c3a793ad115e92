"""In Redis."""

from rota.moving.apscheduler.jobstores.base import JobStore
from rota.moving.common.refusing import Options

_STORE = Options(
    of="RedisJobStore",
    carried=("db", "host", "port"),
    harmless=("jobs_key", "run_times_key", "pickle_protocol"),
    instead={"password": "give the scheduler jobstores={'default': 'redis://:PASSWORD@HOST:PORT/DB'}"},
)


class RedisJobStore(JobStore):
    """A server and its database."""

    def __init__(self, db: int = 0, *, host: str = "localhost", port: int = 6379, **options: object) -> None:
        _STORE.check(options)
        super().__init__(f"redis://{host}:{port}/{db}")
