"""`app.conf`: the settings that Rota carries, and those that make no difference to it. Any other one is refused."""

import re
from collections.abc import Callable, Mapping
from datetime import tzinfo

from rota.errors import InvalidInput
from rota.moving.common.refusing import Options, refuse_value
from rota.sdk.tasks.options import read_zone
from rota.settings.machine_zone import machine_zone

_KNOWN = Options(
    of="app.conf",
    carried=(
        *("beat_schedule", "timezone", "enable_utc", "imports", "include"),
        *("task_default_queue", "task_routes", "task_time_limit", "task_soft_time_limit"),
        "task_default_priority",
    ),
    harmless=(
        *("accept_content", "result_accept_content", "task_track_started", "task_acks_late", "task_ignore_result"),
        *("task_reject_on_worker_lost", "result_extended", "result_backend", "broker_connection_retry_on_startup"),
        *("broker_connection_retry", "worker_prefetch_multiplier", "worker_send_task_events", "task_send_sent_event"),
        *("worker_hijack_root_logger", "task_store_errors_even_if_ignored"),
    ),
    instead={
        "task_always_eager": "test with rota.testing, which runs jobs when a test says so",
        "task_annotations": "give the options to @app.task",
        "worker_concurrency": "rota worker --threads N",
        "result_expires": "retention is a setting of Rota's: history_days",
        "broker_url": "give Celery(broker=...)",
        "task_queues": "queues are made when they are named; rota worker --type QUEUE serves one",
        "beat_scheduler": "every worker of the app fires its schedules, and each time happens once",
    },
)
_OF_TASKS = (
    *("task_default_queue", "task_routes", "task_time_limit", "task_soft_time_limit"),
    "task_default_priority",
)
"""What tasks are made with."""
_SERIALIZERS = ("task_serializer", "result_serializer", "event_serializer")
_JSON = "arguments and results are JSON; leave it out"


class Conf:
    """The settings of one app."""

    beat_schedule: Mapping[str, Mapping[str, object]]
    task_routes: Mapping[str, Mapping[str, object]]
    task_default_queue: str
    task_default_priority: int | None
    task_time_limit: float | None
    task_soft_time_limit: float | None
    imports: tuple[str, ...]
    include: tuple[str, ...]
    enable_utc: bool

    def __init__(self) -> None:
        self.update(beat_schedule={}, task_routes={}, task_default_queue="default", imports=(), include=())
        self.update(timezone=None, enable_utc=True, task_default_priority=None)
        self.update(task_time_limit=None, task_soft_time_limit=None)

    def __setattr__(self, name: str, value: object) -> None:
        if name in _SERIALIZERS:
            refuse_value(name, value, allowed=("json",), instead=_JSON)
        elif name == "timezone":
            object.__setattr__(self, "zone", _zone(value))
        else:
            _KNOWN.check([name])
        if name == "task_routes":
            _check_routes(value)
        object.__setattr__(self, name, value)
        if name in _OF_TASKS:
            self._changed()

    def when_changed(self, call: Callable[[], None]) -> None:
        """Have something called whenever a setting of all tasks is changed."""
        object.__setattr__(self, "_changed", call)

    def _changed(self) -> None:
        """Nobody asked to be told."""

    def knows(self, name: str) -> bool:
        """Whether it is a setting of Celery's, carried or not."""
        return name in (*_KNOWN.carried, *_KNOWN.harmless, *_KNOWN.instead, *_SERIALIZERS)

    def update(self, *mappings: Mapping[str, object], **settings: object) -> None:
        """Several at once."""
        for given in (*mappings, settings):
            for name, value in given.items():
                setattr(self, name, value)

    @property
    def time_zone(self) -> str:
        """The zone of crontabs and of times without one; as in Celery the machine's if neither it nor UTC is wanted."""
        zone: str | None = self.__dict__["zone"]
        return zone or ("UTC" if self.enable_utc else machine_zone())

    def queue_of(self, task: str) -> str:
        """The queue that `task_routes` names for a task: by its name, else by the first pattern that fits."""
        fitting = (one for name, one in self.task_routes.items() if "*" in name and _fits(name, task))
        route = self.task_routes[task] if task in self.task_routes else next(fitting, {})
        found = route.get("queue", self.task_default_queue) if isinstance(route, Mapping) else None
        if not isinstance(found, str):
            raise InvalidInput("task_routes", f"{task!r}: give {{'queue': NAME}}; other routes are not carried by Rota")
        return found


def _check_routes(value: object) -> None:
    if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
        raise InvalidInput("task_routes", "must be a dict by names of tasks, or patterns such as 'shop.*'")


def _fits(pattern: str, task: str) -> bool:
    """As in Celery, `*` is any text, of one letter or more."""
    return re.fullmatch(".+".join(re.escape(part) for part in pattern.split("*")), task) is not None


def _zone(value: object) -> str | None:
    if value is None:
        return None
    if isinstance(value, str | tzinfo):
        return read_zone("timezone", value)
    raise InvalidInput("timezone", f"must be the name of a zone, got {value!r:.100}")
