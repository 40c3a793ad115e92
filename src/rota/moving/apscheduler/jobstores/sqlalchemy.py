"""In a SQLite file, which is Rota's own; SQLAlchemy is not needed."""

from rota.moving.apscheduler.jobstores.base import JobStore
from rota.moving.common.refusing import Options
from rota.moving.common.stores import store_url

_STORE = Options(of="SQLAlchemyJobStore", carried=("url",), harmless=("tablename", "pickle_protocol"))


class SQLAlchemyJobStore(JobStore):
    """A file, by its URL: `sqlite:///jobs.db`."""

    def __init__(self, url: str, **options: object) -> None:
        _STORE.check(options)
        super().__init__(store_url("url", url) or "")
