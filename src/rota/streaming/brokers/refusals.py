"""What the brokers did not take in a round, and what becomes of it.

A topic that may not be written, or what is too large for one, is *refused*: such tasks go to the dead letters. A topic
that took nothing in time is *set aside*: its tasks wait. Both are for a while only, and both are so that one topic does
not stop the others. Only what is known to condemn a record refuses it: brokers have many other reasons, and most pass.
"""

import logging
from collections.abc import Iterable
from typing import NamedTuple

from confluent_kafka import KafkaError

_REFUSED_MS = 60_000
_ASIDE_MS = 5_000
_MOST_ASIDE_MS = 300_000
"""The first time, and at most: each further try makes the others wait for it, so the next is twice as far away."""
_CONDEMNS = frozenset(
    {
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
        KafkaError.TOPIC_EXCEPTION,
        KafkaError.POLICY_VIOLATION,
        KafkaError.INVALID_RECORD,
        KafkaError.INVALID_TIMESTAMP,
        KafkaError.UNSUPPORTED_FOR_MESSAGE_FORMAT,
    }
)
_FORBIDS_MAKING = frozenset({KafkaError.INVALID_REQUEST, KafkaError.INVALID_PARTITIONS, KafkaError.INVALID_CONFIG})
TOO_LARGE = frozenset({KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.RECORD_LIST_TOO_LARGE})
_ONLY_ABORTED = frozenset({KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT, KafkaError._STATE, KafkaError._FATAL})
"""Told of records that share the fate of another one's transaction."""
_logger = logging.getLogger("rota.streaming")


class Refused(NamedTuple):
    """A topic, or what one key sends to it."""

    topic: str
    key: bytes | None = None


class Failures:
    """What was not taken in one round."""

    def __init__(self) -> None:
        self.refused: dict[Refused, str] = {}
        self.late: dict[str, str] = {}
        """Topics that took nothing in time, or have another trouble that may pass."""
        self._large: dict[tuple[str, int], list[tuple[bytes | None, str]]] = {}

    def add(self, error: KafkaError, topic: str, key: bytes | None, partition: int = -1) -> None:
        """The error of one record."""
        if error.code() in TOO_LARGE:
            self._large.setdefault((topic, partition), []).append((key, error.str()))
        elif error.code() in _CONDEMNS:
            self.refused[Refused(topic)] = error.str()
        elif error.code() not in _ONLY_ABORTED:
            self.late[topic] = error.str()

    def add_unmade(self, error: KafkaError, topic: str) -> None:
        """A topic that is missing and could not be made."""
        if error.code() in _FORBIDS_MAKING:
            self.refused[Refused(topic)] = error.str()
        else:
            self.add(error, topic, None)

    def too_large(self) -> dict[Refused, str]:
        """Records that are too large by themselves. Of a batch of several nobody knows which one it is, if any."""
        return {
            Refused(topic, key): reason
            for (topic, _), records in self._large.items()
            if len(records) == 1
            for key, reason in records
        }

    def large_batches(self) -> set[str]:
        """Topics for which several records were too large together."""
        return {topic for (topic, _), records in self._large.items() if len(records) > 1}


class Refusals:
    """What is not tried now, why, and until when."""

    def __init__(self) -> None:
        self._reasons: dict[Refused, tuple[int, str]] = {}
        self._aside: dict[str, tuple[int, int]] = {}
        """Until when, and for how long that was."""
        self._alone: dict[str, int] = {}

    def learn(self, failures: Failures, now: int) -> None:
        """Take in what a round could not send."""
        for one, reason in {**failures.refused, **failures.too_large()}.items():
            self._reasons[one] = (now + _REFUSED_MS, reason)
            _logger.warning(
                "tasks go to the dead letters for a minute: their topic refuses them",
                extra={"topic": one.topic, "error": reason},
            )
        for topic in failures.large_batches():
            self._alone[topic] = now + _REFUSED_MS
        for topic, reason in failures.late.items():
            self._set_aside(topic, reason, now)

    def _set_aside(self, topic: str, reason: str, now: int) -> None:
        _, last_ms = self._aside.get(topic, (0, _ASIDE_MS // 2))
        for_ms = min(2 * last_ms, _MOST_ASIDE_MS)
        self._aside[topic] = (now + for_ms, for_ms)
        extra = {"topic": topic, "error": reason, "for_ms": for_ms}
        _logger.warning("tasks wait: their topic did not take one in time", extra=extra)

    def took(self, topics: Iterable[str]) -> None:
        """They take records again."""
        if self._aside:
            for topic in topics:
                self._aside.pop(topic, None)

    def aside(self, now: int) -> frozenset[str]:
        """The topics that are set aside now."""
        if not self._aside:
            return frozenset()
        return frozenset(topic for topic, (until, _) in self._aside.items() if until > now)

    def is_alone(self, topic: str, now: int) -> bool:
        """Whether each record for a topic is to be a batch of its own, so that it is known which one is too large."""
        return self._alone.get(topic, 0) > now

    def has_alone(self, now: int) -> bool:
        """Whether any records are to be sent so."""
        return any(until > now for until in self._alone.values())

    @property
    def has_any(self) -> bool:
        """Whether anything may be refused, or is to be sent alone."""
        return bool(self._reasons or self._alone)

    def reason(self, topic: str, key: bytes, now: int) -> str | None:
        """Why something is not tried now; None if it is."""
        return self._reason(Refused(topic), now) or self._reason(Refused(topic, key), now)

    def is_closed(self, topic: str, now: int) -> bool:
        """Whether a topic takes nothing now, for whatever reason."""
        return topic in self.aside(now) or (bool(self._reasons) and self._reason(Refused(topic), now) is not None)

    def _reason(self, one: Refused, now: int) -> str | None:
        until, reason = self._reasons.get(one, (0, ""))
        if until > now:
            return reason
        self._reasons.pop(one, None)
        return None
