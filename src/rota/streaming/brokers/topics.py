"""Makes the topics that are missing, and refuses ones that do not fit together."""

from collections.abc import Collection, Iterable

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from rota.errors import StoreRefused
from rota.streaming.options import StreamOptions

_TIMEOUT_S = 5.0
_COMPACTED = {"cleanup.policy": "compact", "message.timestamp.type": "CreateTime"}
_DEFAULT = -1


class Topics:
    """The topics of the brokers, as far as this instance has looked."""

    def __init__(self, options: StreamOptions, admin: AdminClient) -> None:
        self._options = options
        self._admin = admin
        self._known: set[str] = set()

    def prepare(self) -> int:
        """Make the topics of the scheduler itself, and return how many partitions they have. `StoreRefused` if they do
        not fit together, or one is missing and may not be made."""
        options = self._options
        found = self._partition_counts()
        count = self._check(found)
        self._known.update(found)
        self._make_own(options.input_topic, count, {})
        for name in options.changelogs:
            self._make_own(name, count, _COMPACTED)
        self._make_own(options.dead_letter_topic, 1, {})
        return count

    def _make_own(self, name: str, partitions: int, config: dict[str, str]) -> None:
        error = self._try_to_make(name, partitions, config)
        if error is not None:
            how = "".join(f", {key}={value}" for key, value in config.items())
            raise StoreRefused(
                f"topic {name} is missing, or hidden from this account, and cannot be made: {error.str()}; make it "
                f"yourself (partitions={partitions}{how}), or let this account make topics, with a kafka.replication "
                "that the brokers can keep"
            )

    def missing(self) -> tuple[str, ...]:
        """Which topics of the scheduler itself are not there. `StoreRefused` if those that are do not fit together."""
        found = self._partition_counts()
        self._check(found)
        options = self._options
        return tuple(
            name for name in (options.input_topic, *options.changelogs, options.dead_letter_topic) if name not in found
        )

    def _check(self, found: dict[str, int]) -> int:
        """How many partitions the topics have, or are to have."""
        options = self._options
        count = found.get(options.input_topic, options.partitions)
        for name in options.changelogs:
            if found.get(name, count) != count:
                raise StoreRefused(
                    f"topic {name} has {found[name]} partitions and {options.input_topic} has {count}; a definition's "
                    "place depends on their number, so give them the same, or name another input topic"
                )
        return count

    def ensure(self, names: Iterable[str]) -> dict[str, KafkaError]:
        """Make topics for due tasks, or for dead letters, where they are missing. Returns what kept some from being
        made; `KafkaException` if the brokers are away."""
        missing = [name for name in names if name not in self._known]
        if not missing:
            return {}
        self._known.update(self._partition_counts())
        return {name: error for name in missing if (error := self._try_to_make_target(name)) is not None}

    def _try_to_make_target(self, name: str) -> KafkaError | None:
        return self._try_to_make(name, 1 if name == self._options.dead_letter_topic else self._options.partitions, {})

    def _try_to_make(self, name: str, partitions: int, config: dict[str, str]) -> KafkaError | None:
        """Returns what the brokers have against it; `KafkaException` if they are away."""
        try:
            self._make(name, partitions, config)
        except KafkaException as error:
            cause: KafkaError = error.args[0]
            if cause.retriable() or cause.code() < 0:
                raise  # the brokers are away
            return cause
        return None

    def look_again(self, names: Collection[str]) -> set[str]:
        """Somebody may have removed them. Returns those that are gone: they are made when they are needed."""
        self._known.difference_update(names)
        found = self._partition_counts()
        self._known.update(found)
        return {name for name in names if name not in found}

    def _partition_counts(self) -> dict[str, int]:
        found = self._admin.list_topics(timeout=_TIMEOUT_S).topics
        return {name: len(topic.partitions) for name, topic in found.items() if topic.error is None}

    def _make(self, name: str, partitions: int, config: dict[str, str]) -> None:
        if name in self._known:
            return
        new = NewTopic(name, partitions, self._options.replication or _DEFAULT, config=config)
        try:
            self._admin.create_topics([new], request_timeout=_TIMEOUT_S)[name].result()
        except KafkaException as error:
            if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise
        self._known.add(name)
