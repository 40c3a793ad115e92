"""What a sidekiq job type says, checked; and the job that is pushed, in the form Ruby's Sidekiq reads."""

import re
import secrets
from enum import StrEnum
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from rota.engine.executors.executor import RETRY_BESIDE, Run
from rota.engine.executors.metadata import check_flag, check_keys, check_text
from rota.errors import InvalidInput
from rota.model.access.masking import is_reference
from rota.model.limits import check_range

DEFAULT_REDIS = "redis://127.0.0.1:6379/0"
DEFAULT_POLL_MS = 1000
REPORT_PREFIX = "rota:sidekiq:report:"
"""A stream per job, into which `rota_report.rb` writes how the job ended."""
_KEYS = ("class", "completion", "poll_ms", "queue", "redis", "retry", RETRY_BESIDE, "timestamps")
_CLASS = re.compile(r"[A-Z][A-Za-z0-9_]*(?:::[A-Z][A-Za-z0-9_]*)*")
_QUEUE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:-]{0,127}")
_MAX_RETRIES = 1000
_FIRST_WITH_MILLIS = 8
"""The version of Sidekiq."""
_LEAST_MILLIS = 100_000_000_000
"""As seconds this is the year 5138, as milliseconds 1973; so it tells them apart."""


class Completion(StrEnum):
    """When a job counts as done."""

    PUSH = "push"
    """When it is in Sidekiq's queue."""
    OBSERVE = "observe"
    """When it is in none of Sidekiq's queues and processes any more."""
    REPORT = "report"
    """When the middleware `rota_report.rb` says so."""


class Timestamps(StrEnum):
    """Sidekiq 8 counts in whole milliseconds, those before it in seconds."""

    AUTO = "auto"
    """As the running Sidekiq counts, by its version; while none runs as the youngest job in the queue has it, otherwise
    milliseconds: Sidekiq 6 and 7 run such jobs too."""
    SECONDS = "seconds"
    MILLIS = "millis"


class SidekiqPlan(Struct, frozen=True):
    """How jobs of a type are pushed, and how long to look after them."""

    class_name: str
    queue: str
    redis: str
    retry: bool | int
    timestamps: Timestamps
    completion: Completion
    poll_ms: int

    @property
    def may_retry(self) -> bool:
        """Whether Sidekiq itself may run the job again."""
        return bool(self.retry)

    @property
    def is_buried(self) -> bool:
        """Whether a job that failed for good is kept among the dead; it is dropped without a trace otherwise."""
        return self.retry is not False


class PushedJob(Struct, frozen=True):
    """A job as it stands in Sidekiq's queue."""

    jid: str
    payload: bytes
    plan: SidekiqPlan

    @property
    def queue_key(self) -> str:
        return f"queue:{self.plan.queue}"

    @property
    def report_key(self) -> str:
        return REPORT_PREFIX + self.jid


class SidekiqError(Exception):
    """Sidekiq's Redis did not do what was asked."""


def read_plan(metadata: dict[str, object]) -> SidekiqPlan:
    """The metadata as a plan; `InvalidInput` names what is wrong with it."""
    check_keys(metadata, _KEYS)
    check_flag(metadata, RETRY_BESIDE)
    completion = Completion(_choice(metadata, "completion", Completion.PUSH, Completion))
    return SidekiqPlan(
        class_name=check_class("metadata.class", metadata.get("class")),
        queue=_read_queue(metadata.get("queue", "default")),
        redis=read_redis(metadata.get("redis", DEFAULT_REDIS)),
        retry=_read_retry(metadata.get("retry"), completion),
        timestamps=Timestamps(_choice(metadata, "timestamps", Timestamps.AUTO, Timestamps)),
        completion=completion,
        poll_ms=check_range("metadata.poll_ms", metadata.get("poll_ms", DEFAULT_POLL_MS), 10, 3_600_000),
    )


def check_class(field: str, value: object) -> str:
    """The name of a Ruby class."""
    if value is None:
        raise InvalidInput(field, "is required: the name of a Ruby class")
    if not isinstance(value, str) or not _CLASS.fullmatch(value):
        raise InvalidInput(field, f"{value!r} is not the name of a Ruby class, such as Billing::InvoiceJob")
    return value


def read_redis(value: object) -> str:
    """A URL, or what stands for one. It is not shown in the message, because it may hold a password."""
    if is_reference(value):
        return str(value)
    try:
        parts = urlsplit(check_text("metadata.redis", value))
        is_good = (parts.scheme in ("redis", "rediss") and parts.hostname) or (parts.scheme == "unix" and parts.path)
        if is_good and (parts.port is None or parts.port):
            return str(value)
    except ValueError:
        pass  # a port that is no number; the message is the same
    raise InvalidInput("metadata.redis", "must be a URL such as redis://127.0.0.1:6379/0, rediss://... or unix://...")


def read_arguments(arguments: dict[str, object], *others: str) -> list[object]:
    """What `perform` is called with: `args` is all of it, `sidekiq_arguments` is one argument."""
    known = ("args", "sidekiq_arguments", *others)
    for name in arguments:
        if name not in known:
            raise InvalidInput(f"arguments.{name}", f"would not reach Sidekiq; known are {', '.join(known)}")
    if "args" not in arguments:
        return [arguments["sidekiq_arguments"]] if "sidekiq_arguments" in arguments else []
    if "sidekiq_arguments" in arguments:
        raise InvalidInput("arguments.sidekiq_arguments", "cannot be there together with arguments.args")
    args = arguments["args"]
    if not isinstance(args, list):
        raise InvalidInput("arguments.args", "must be an array; use sidekiq_arguments for a single argument")
    return args


def make_job(plan: SidekiqPlan, run: Run, args: list[object], created_at: float | int) -> PushedJob:
    """The job to push. The id is new for every push: a repeated run is another job to Sidekiq."""
    jid = secrets.token_hex(12)
    payload: dict[str, object] = {
        "class": plan.class_name,
        "args": args,
        "queue": plan.queue,
        "jid": jid,
        "retry": plan.retry,
        "created_at": created_at,
        "enqueued_at": created_at,
        "rota_job_id": run.spec.id,
    }
    if plan.completion is Completion.REPORT:
        payload["rota_report"] = REPORT_PREFIX + jid
    return PushedJob(jid, msgspec.json.encode(payload), plan)


def stamp(timestamps: Timestamps, now_us: int, neighbour: bytes | None, process: bytes | None = None) -> float | int:
    """The present instant as this Sidekiq counts. `process` is what one of its processes says of itself, `neighbour` a
    job that already stands in the queue."""
    is_seconds = timestamps is Timestamps.SECONDS
    if timestamps is Timestamps.AUTO:
        is_seconds = _counts_seconds(neighbour) if process is None else _is_before_8(process)
    return now_us / 1_000_000 if is_seconds else now_us // 1000


def _is_before_8(process: bytes) -> bool:
    """Processes of Sidekiq 6 do not tell their version."""
    try:
        version = msgspec.json.decode(process, type=dict[str, object]).get("version")
    except msgspec.DecodeError:
        return False
    major = str(version or "6").partition(".")[0]
    return major.isdigit() and int(major) < _FIRST_WITH_MILLIS


def _counts_seconds(neighbour: bytes | None) -> bool:
    try:
        enqueued_at = msgspec.json.decode(neighbour or b"null", type=dict[str, object])["enqueued_at"]
    except (msgspec.DecodeError, KeyError):
        return False
    return isinstance(enqueued_at, int | float) and enqueued_at < _LEAST_MILLIS


def _choice(metadata: dict[str, object], key: str, default: str, choices: type[StrEnum]) -> str:
    value = metadata.get(key, default)
    if value not in list(choices):
        raise InvalidInput(f"metadata.{key}", f"must be one of {', '.join(choices)}; got {value!r}")
    return str(value)


def _read_queue(value: object) -> str:
    if not isinstance(value, str) or not _QUEUE.fullmatch(value):
        raise InvalidInput("metadata.queue", f"{value!r} is not the name of a queue")
    return value


def _read_retry(value: object, completion: Completion) -> bool | int:
    """By default Rota's own retries rule. For an observer a failed job is buried, so that it can be told apart."""
    if value is None:
        return 0 if completion is Completion.OBSERVE else False
    if not isinstance(value, bool):
        value = check_range("metadata.retry", value, 0, _MAX_RETRIES)
    if value and completion is Completion.REPORT:
        raise InvalidInput("metadata.retry", "must be false with completion report; the job type's own retries rule")
    return value
