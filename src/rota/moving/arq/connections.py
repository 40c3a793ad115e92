"""Where jobs are enqueued: `redis = await create_pool(RedisSettings())`."""

import asyncio
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Self
from urllib.parse import quote

from rota.errors import InvalidInput, NotFound
from rota.moving.arq.calls import OWNER, call, queue_of, task_options
from rota.moving.arq.jobs import Job
from rota.moving.common.identity import job_id_of
from rota.moving.common.refusing import Options, refused_method
from rota.moving.common.stores import store_url
from rota.sdk.tasks.app import Rota
from rota.sdk.tasks.declaring import declare, ensure_queues
from rota.sdk.tasks.options import read_duration, read_instant
from rota.sdk.tasks.plan import make_plan

_SETTINGS = Options(
    of="RedisSettings",
    carried=("host", "port", "database", "username", "password", "ssl"),
    harmless=("conn_timeout", "conn_retries", "conn_retry_delay", "max_connections", "retry_on_timeout"),
    instead={"sentinel": "RedisSettings.from_dsn('sentinel://...')", "unix_socket_path": "give host and port"},
)
_POOL = Options(
    of="create_pool",
    carried=("settings_", "default_queue_name"),
    harmless=("retry", "expires_extra_ms"),
    instead=dict.fromkeys(("job_serializer", "job_deserializer"), "arguments and results are JSON; leave it out"),
)


class RedisSettings:
    """A store, by host, port and database, or by its URL."""

    def __init__(
        self,
        host: str = "localhost",
        port: int = 6379,
        database: int = 0,
        username: str | None = None,
        password: str | None = None,
        ssl: bool = False,
        **options: object,
    ) -> None:
        _SETTINGS.check(options)
        who = f"{quote(username or '', safe='')}:{quote(password, safe='')}@" if password else ""
        self.url: str | None = f"{'rediss' if ssl else 'redis'}://{who}{host}:{port}/{database}"

    @classmethod
    def from_dsn(cls, dsn: str) -> Self:
        """Of a URL; `sqlite:///FILE` does too."""
        made = cls()
        made.url = store_url("dsn", dsn)
        return made


class ArqRedis:
    """What jobs are enqueued with."""

    def __init__(self, app: Rota, default_queue_name: str | None = None) -> None:
        self._app = app
        self.default_queue_name = default_queue_name

    @property
    def __rota_app__(self) -> Rota:
        return self._app

    async def enqueue_job(
        self,
        function: str,
        *args: Any,
        _job_id: str | None = None,
        _queue_name: str | None = None,
        _defer_until: datetime | None = None,
        _defer_by: float | timedelta | None = None,
        _expires: float | timedelta | None = None,
        _job_try: int | None = None,
        **kwargs: Any,
    ) -> Job | None:
        """Make a job of a function by its name; None if a job has this id already."""
        if _job_try is not None:
            raise InvalidInput("_job_try", "of enqueue_job is not carried by Rota; tries are counted from 1")
        fields: dict[str, Any] = {}
        if _defer_by:
            fields["delay_ms"] = read_duration("_defer_by", _defer_by)
        if _defer_until is not None:
            fields["run_at"] = read_instant("_defer_until", _defer_until.astimezone())
        if _expires is not None:
            fields["expires_ms"] = read_duration("_expires", _expires)
        if _job_id is not None:
            fields["id"] = job_id_of("_job_id", _job_id)
        queue = queue_of(_queue_name or self.default_queue_name)
        arguments: dict[str, object] = {"args": list(args), "kwargs": kwargs}
        job_id = await asyncio.to_thread(self._enqueue, function, queue, arguments, fields)
        return None if job_id is None else Job(_job_id or job_id, self)

    def _enqueue(self, name: str, queue: str, arguments: dict[str, object], fields: Mapping[str, Any]) -> str | None:
        from rota.engine.jobs.intake import JobRequest

        engine = self._app.engine
        ensure_queues(engine, [queue])
        try:
            engine.definitions.job_type(name)
        except NotFound:  # no worker has told yet what it is
            plan, _ = make_plan(call, task_options(name, queue=queue))
            declare(engine, OWNER, [plan], removes=False)
        request = JobRequest(job_type=name, arguments=arguments, node_type=queue, **fields)
        answer = engine.intake.enqueue([request])[0]
        return answer.job_id if answer.is_new else None

    queued_jobs = refused_method("queued_jobs", "rota jobs lists them")
    all_job_results = refused_method("all_job_results", "rota jobs lists them")

    async def aclose(self) -> None:
        """Give up the connections to the store."""
        await asyncio.to_thread(self._app.close)

    close = aclose

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


def app_of_settings(settings: RedisSettings | None) -> Rota:
    """The app of a store; without settings, that which the environment or the configuration file names."""
    return Rota(None if settings is None else settings.url, name=OWNER, keeps=True)


async def create_pool(
    settings_: RedisSettings | None = None, *, default_queue_name: str | None = None, **options: object
) -> ArqRedis:
    _POOL.check(options)
    return ArqRedis(app_of_settings(settings_), default_queue_name)
