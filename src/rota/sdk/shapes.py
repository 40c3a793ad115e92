"""The API's answers as the client gives them. What a newer server adds is ignored; what an older one lacks is None."""

from msgspec import Struct

from rota.model.job import JobState


class Enqueued(Struct, frozen=True, kw_only=True):
    """The surviving job, and whether it is a new one."""

    uuid: str
    is_new: bool = True


class Cancelled(Struct, frozen=True, kw_only=True):
    """`cancelled`: it waited and now is; `requested`: it runs, and its node is told."""

    uuid: str
    answer: str = "cancelled"


class Changed(Struct, frozen=True, kw_only=True):
    """How many jobs met the conditions, and how many were changed. With `more`, there are further ones: call again."""

    matched: int
    changed: int
    more: bool = False
    dry_run: bool = False


class JobType(Struct, frozen=True, kw_only=True):
    """What to run."""

    uuid: str
    name: str
    executor: str
    metadata: dict[str, object] = {}
    unique: bool | str = False
    node_type: str = "default"
    timeout: int | None = None
    retries: dict[str, int | float] | None = None
    on_node_death: str | None = None
    rate: str | None = None
    rate_key: str | None = None
    managed_by: str | None = None
    version: int | None = None


class NodeType(Struct, frozen=True, kw_only=True):
    """A queue, and how many jobs one node of the type runs at a time."""

    uuid: str
    name: str
    thread_count: int
    managed_by: str | None = None


class Node(Struct, frozen=True, kw_only=True):
    """One process."""

    uuid: str
    node_type_uuid: str
    last_ping: int
    node_type: str | None = None
    started_at: int | None = None
    host: str | None = None
    pid: int | None = None
    version: str | None = None
    roles: list[str] = []
    slots: int = 0
    running: int = 0
    alive: bool | None = None
    draining: bool = False
    trouble: str | None = None


class Attempt(Struct, frozen=True, kw_only=True):
    """One attempt at a job: when, where, and what went wrong, in words."""

    attempt: int
    node: str | None = None
    started_at: int | None = None
    ended_at: int | None = None
    error: str | None = None


class JobProgress(Struct, frozen=True, kw_only=True):
    """How far a job said it has come."""

    done: float
    total: float | None = None
    percent: int | None = None
    message: str = ""
    time: int = 0
    attempt: int = 1


class Job(Struct, frozen=True, kw_only=True):
    """One execution of a job type."""

    uuid: str
    job_type_uuid: str
    state: JobState
    arguments: dict[str, object] = {}
    job_type: str | None = None
    node_type_uuid: str | None = None
    node_type: str | None = None
    priority: int = 0
    executing_node: str | None = None
    enqueued_at: int | None = None
    run_at: int | None = None
    expires_at: int | None = None
    available_at: int | None = None
    started_at: int | None = None
    ended_at: int | None = None
    attempt: int = 0
    attempts: list[Attempt] = []
    deaths: int = 0
    timeout: int | None = None
    unique_key: str | None = None
    cancel_requested: bool = False
    cause: dict[str, object] | None = None
    progress: JobProgress | None = None
    results: object = None
    errors: object = None
    error: str | None = None


class JobPage(Struct, frozen=True):
    jobs: list[Job]
    cursor: str | None = None


class Reason(Struct, frozen=True, kw_only=True):
    """One thing that holds. Instants are epoch milliseconds; what it does not know is None."""

    code: str
    sentence: str
    since: int | None = None
    until: int | None = None
    job: str | None = None
    job_type: str | None = None
    node: str | None = None
    node_type: str | None = None
    nodes: list[str] = []
    running: int | None = None
    slots: int | None = None
    ahead: int | None = None
    attempts: int | None = None
    state: str | None = None
    error: object = None
    note: str | None = None
    dependency: dict[str, object] | None = None
    event: str | None = None


class Why(Reason, frozen=True, kw_only=True):
    """Why something does not run: what must end first, and in `also` what holds beside it."""

    also: list[Reason] = []


class LogLine(Struct, frozen=True, kw_only=True):
    """One line of a job's log."""

    time: int
    message: str
    level: str = "info"
    attempt: int = 1


class LogPage(Struct, frozen=True):
    """Lines, the position behind the last, and whether there is more to read now."""

    logs: list[LogLine]
    next: int
    more: bool = False


class Schedule(Struct, frozen=True, kw_only=True):
    """A time trigger."""

    uuid: str
    job_type_uuid: str
    job_arguments: dict[str, object] = {}
    interval: int | None = None
    last_scheduled_by: str | None = None
    last_scheduled_at: int | None = None
    name: str | None = None
    trigger: dict[str, object] | None = None
    words: str | None = None
    next: int | None = None
    runs: int = 0
    overlap: str | None = None
    paused: bool = False
    note: str | None = None
    managed_by: str | None = None


class JobTypePage(Struct, frozen=True):
    job_types: list[JobType]
    cursor: str | None = None


class SchedulePage(Struct, frozen=True):
    schedules: list[Schedule]
    cursor: str | None = None


class Tick(Struct, frozen=True, kw_only=True):
    """What became of one nominal instant."""

    nominal: int
    status: str
    reason: str | None = None
    job: str | None = None
    decided_at: int | None = None
    until: int | None = None
    count: int = 1


class Configuration(Struct, frozen=True, kw_only=True):
    """An event trigger, and how far it has come."""

    uuid: str
    name: str
    dependencies: list[dict[str, object]] = []
    job: dict[str, object] | None = None
    clock: str | None = None
    late: str | None = None
    last_execution: str | None = None
    last_execution_at: int | None = None
    evaluated: int = 0
    triggered: int = 0
    managed_by: str | None = None


class ConfigurationPage(Struct, frozen=True):
    configurations: list[Configuration]
    cursor: str | None = None


class Explanation(Struct, frozen=True, kw_only=True):
    """Why a configuration fired or did not: a sentence, and for each dependency what counted for it."""

    configuration: str
    explanation: str
    verdict: str | None = None
    matrix: list[dict[str, object]] = []
    missing: list[dict[str, object]] = []
    missing_words: str = ""
    expires_next: dict[str, object] | None = None


class EventAnswer(Struct, frozen=True, kw_only=True):
    """What events did: which dependencies they validated, which jobs they made, and which were refused."""

    validated: list[dict[str, object]] = []
    triggered: list[dict[str, object]] = []
    failed: list[dict[str, object]] = []
