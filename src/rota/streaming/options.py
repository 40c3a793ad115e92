"""How a stream is set up, and the names of its topics."""

from typing import Any

from msgspec import Struct

from rota.errors import InvalidInput
from rota.model.triggers.interval import TimeUnit

_CLIENT_PREFIX = "rota"


class StreamOptions(Struct, frozen=True, kw_only=True):
    """What every instance of one light scheduler agrees on, and where the others reach this one."""

    brokers: tuple[str, ...]
    input_topic: str = "light-scheduler"
    partitions: int = 16
    """Of the topics that are made here; those that are there keep theirs."""
    replication: int | None = None
    """None for what the brokers have as their default."""
    session_timeout_s: float = 10.0
    """An instance that is silent for so long loses its partitions to the others."""
    client_options: dict[str, str] = {}
    """Any further options of librdkafka, such as those for TLS and SASL."""
    address: str = ""
    """The URL at which other instances reach this one; empty if they cannot."""
    peer_key: str = ""
    """The key with which instances ask each other. Whoever can join the group can have it shown, so it is good for
    nothing else."""

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
