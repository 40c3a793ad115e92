"""Makes the topics that are missing, and refuses ones that do not fit together."""

from collections.abc import Iterable

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
        """Make the topics of the scheduler itself, and return how many partitions they have."""
        options = self._options
        found = self._partition_counts()
        count = found.get(options.input_topic, options.partitions)
        for name in (options.input_topic, *options.changelogs):
            if found.setdefault(name, count) != count:
                raise StoreRefused(
                    f"topic {name} has {found[name]} partitions and {options.input_topic} has {count}; a definition's "
                    "place depends on their number, so give them the same, or name another input topic"
                )
        self._make([options.input_topic], count, {})
        self._make(options.changelogs, count, _COMPACTED)
        self._make([options.dead_letter_topic], 1, {})
        return count

    def ensure(self, names: Iterable[str]) -> None:
        """Make topics for due tasks where they are missing. `KafkaException` if one cannot be made."""
        missing = [name for name in names if name not in self._known]
        if missing:
            self._known.update(self._partition_counts())
            self._make([name for name in missing if name not in self._known], self._options.partitions, {})

    def forget(self, names: Iterable[str]) -> None:
        """Somebody may have removed them."""
        self._known.difference_update(names)

    def _partition_counts(self) -> dict[str, int]:
        found = self._admin.list_topics(timeout=_TIMEOUT_S).topics
        return {name: len(topic.partitions) for name, topic in found.items() if topic.error is None}

    def _make(self, names: Iterable[str], partitions: int, config: dict[str, str]) -> None:
        replication = self._options.replication or _DEFAULT
        new = [NewTopic(name, partitions, replication, config=config) for name in names if name not in self._known]
        if not new:
            return
        for name, made in self._admin.create_topics(new, request_timeout=_TIMEOUT_S).items():
            try:
                made.result()
            except KafkaException as error:
                if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                    raise
            self._known.add(name)
