"""How a stream is set up, and the names of its topics."""

from typing import Any

from msgspec import Struct

from rota.engine.executors.process.spawn import expect_foreign_descriptors
from rota.errors import InvalidInput
from rota.model.triggers.interval import TimeUnit

_CLIENT_PREFIX = "rota"
_LEAST_TAKE_OVER_S = 1.0
_MOST_TAKE_OVER_S = 3.0


def session_within(timeout_s: float) -> float:
    """How long the brokers wait for a silent instance, so that another one serves its partitions before the time-out is
    over: what remains is for the others to hear of it, to share the partitions out, and to restore them. That is a
    fifth of the time-out, within bounds, and never more than half of it."""
    take_over_s = min(max(timeout_s / 5, _LEAST_TAKE_OVER_S), _MOST_TAKE_OVER_S, timeout_s / 2)
    return timeout_s - take_over_s


class StreamOptions(Struct, frozen=True, kw_only=True):
    """What every instance of one light scheduler agrees on, and where the others reach this one."""

    brokers: tuple[str, ...]
    input_topic: str = "light-scheduler"
    partitions: int = 16
    """Of the topics that are made here; those that are there keep theirs."""
    replication: int | None = None
    """None for what the brokers have as their default."""
    session_timeout_s: float = 10.0
    """When an instance dies, others serve its partitions within this time."""
    client_options: dict[str, str] = {}
    """Any further options of librdkafka, such as those for TLS and SASL."""
    address: str = ""
    """The URL at which other instances reach this one; empty if they cannot."""
    peer_key: str = ""
    """The key with which instances ask each other. Whoever can join the group can have it shown, so it is good for
    nothing else."""

    @property
    def session_s(self) -> float:
        """An instance that is silent for so long loses its partitions to the others."""
        return session_within(self.session_timeout_s)

    @property
    def session_advice(self) -> str:
        """What to do when the brokers do not take the session."""
        return (
            f"they take no session of {self.session_s:g} s, which kafka.session_timeout_s of "
            f"{self.session_timeout_s:g} makes; give it another value (7.5 and more suit brokers that were not told "
            "otherwise), or change what they take: group.min.session.timeout.ms and group.max.session.timeout.ms"
        )

    @property
    def group(self) -> str:
        """The consumer group that shares the partitions."""
        return f"rota-{self.input_topic}"

    def transactional_id(self, name: str) -> str:
        """What the transactions of an instance are known by."""
        return f"{self.group}-{name}"

    def client_id(self, name: str) -> str:
        """What the group calls an instance. Others find out by it who has a partition, and where."""
        return f"{_CLIENT_PREFIX}+{name}+{self.address}"

    @property
    def dead_letter_topic(self) -> str:
        return f"{self.input_topic}-dead-letter"

    @property
    def changelogs(self) -> tuple[str, ...]:
        return tuple(self.changelog(unit) for unit in TimeUnit)

    def changelog(self, unit: TimeUnit | None) -> str:
        """Where definitions of a unit are kept. Tasks that are sent once have none, and are with the milliseconds."""
        return f"{self.input_topic}-{(unit or TimeUnit.MILLISECONDS).lower()}-changelog"

    def check_target(self, topic: str) -> None:
        """Refuse a definition whose due tasks would become commands, or definitions, of this scheduler."""
        if topic in (self.input_topic, self.dead_letter_topic, *self.changelogs):
            raise InvalidInput("topic", f"{topic} is the scheduler's own; due tasks need another one")

    def client(self, options: dict[str, Any] | None = None) -> dict[str, Any]:
        """The configuration of one client of the brokers."""
        expect_foreign_descriptors()  # librdkafka wakes its threads by pipes
        fixed = {
            "bootstrap.servers": ",".join(self.brokers),
            # Only what is fatal: brokers that are away are told as a trouble, and once.
            "log_level": 2,
            "reconnect.backoff.max.ms": 2_000,
        }
        return {**fixed, **self.client_options, **(options or {})}


def instance_of(client_id: str) -> tuple[str, str]:
    """Name and address of an instance, by what the group calls it; both empty of somebody else."""
    prefix, _, rest = client_id.partition("+")
    name, _, address = rest.partition("+")
    return (name, address) if prefix == _CLIENT_PREFIX else ("", "")
