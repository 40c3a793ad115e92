"""The native JSON of job types and node types: Synchrony's keys, and ours beside them.

The HTTP API and the command line give the same. Times are epoch milliseconds; what is absent is null.
"""

from typing import Literal

from msgspec import Struct

from rota.model.access.masking import mask_metadata
from rota.model.job_type import JobType, OnNodeDeath, Unique
from rota.model.node import NodeType
from rota.model.rate import Rate, parse_rate
from rota.model.runs.retry import RetryPolicy
from rota.shapes.codec import As, Codec, or_null

UniqueWord = Literal["none", "while_running", "while_pending"]


class RetryShape(Struct, frozen=True):
    """When a failed attempt is tried again."""

    attempts: int
    delay_ms: int
    factor: float
    max_delay_ms: int
    jitter: float


class JobTypeShape(Struct, frozen=True, kw_only=True):
    """What to run."""

    uuid: str
    name: str
    executor: str
    metadata: dict[str, object]
    unique: bool | UniqueWord
    node_type: str
    timeout: int | None
    retries: RetryShape
    on_node_death: OnNodeDeath
    rate: str | None
    """How many of its jobs may start within a period: `10/m`."""
    rate_key: str | None
    """What the rate is for, with arguments in braces."""
    managed_by: str | None
    version: int
    """Grows with every change."""


class NodeTypeShape(Struct, frozen=True, kw_only=True):
    """A queue, and how many jobs one node of the type runs at a time."""

    uuid: str
    name: str
    thread_count: int
    managed_by: str | None


def _unique_shape(unique: Unique) -> bool | UniqueWord:
    """Synchrony knows true and false only."""
    if unique is Unique.WHILE_PENDING:
        return "while_pending"
    return unique is Unique.WHILE_RUNNING


def _unique_of(shape: bool | UniqueWord) -> Unique:
    if isinstance(shape, bool):
        return Unique.WHILE_RUNNING if shape else Unique.NONE
    return Unique(shape)


def _rate_shape(rate: Rate | None) -> str | None:
    return None if rate is None else rate.text


def _rate_of(shape: str | None) -> Rate | None:
    return None if shape is None else parse_rate("rate", shape)


_RETRY = Codec(RetryPolicy, RetryShape)
RETRIES = As("retry", _RETRY.shape, _RETRY.value)
"""How a retry policy is told in whatever has one."""
_NODE_TYPE = Codec(NodeType, NodeTypeShape, managed_by=or_null("managed_by"))
_JOB_TYPE = Codec(
    JobType,
    JobTypeShape,
    unique=As("unique", _unique_shape, _unique_of),
    timeout=As("timeout_ms"),
    retries=RETRIES,
    rate=As("rate", _rate_shape, _rate_of),
    rate_key=or_null("rate_key"),
    managed_by=or_null("managed_by"),
)


def job_type_shape(job_type: JobType, *, masked: bool = False) -> JobTypeShape:
    """`masked` is for those who may not define job types: without what may be a secret."""
    metadata = mask_metadata(job_type.metadata) if masked else job_type.metadata
    return _JOB_TYPE.shape(job_type, metadata=metadata)


job_type_of = _JOB_TYPE.value
node_type_shape = _NODE_TYPE.shape
node_type_of = _NODE_TYPE.value
