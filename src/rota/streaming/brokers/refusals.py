"""Due tasks that the brokers refuse for good: because this instance may not write to their topic, or they are too large
for it. Such tasks go to the dead letters for a while, so that they do not stop the others."""

from collections.abc import Mapping
from typing import NamedTuple

from confluent_kafka import KafkaError

_LASTS_MS = 60_000


class Refused(NamedTuple):
    """A topic, or what one key sends to it."""

    topic: str
    key: bytes | None = None


def refusal_of(error: KafkaError, topic: str, key: bytes | None) -> Refused | None:
    """What the brokers said no to and will again, by the error of one record; None if they did not. Brokers that are
    away refuse nothing: librdkafka's own errors have negative codes."""
    if error.code() <= 0 or error.retriable():
        return None
    is_large = error.code() in (KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.RECORD_LIST_TOO_LARGE)
    return Refused(topic, key if is_large else None)


class Refusals:
    """Why, and until when it is not tried again."""

    def __init__(self) -> None:
        self._reasons: dict[Refused, tuple[int, str]] = {}

    def add(self, refused: Mapping[Refused, str], now: int) -> None:
        self._reasons |= {one: (now + _LASTS_MS, reason) for one, reason in refused.items()}

    def reason(self, topic: str, key: bytes, now: int) -> str | None:
        """Why something is not tried now; None if it is."""
        if not self._reasons:
            return None
        return self._reason(Refused(topic), now) or self._reason(Refused(topic, key), now)

    def _reason(self, one: Refused, now: int) -> str | None:
        until, reason = self._reasons.get(one, (0, ""))
        if until > now:
            return reason
        self._reasons.pop(one, None)
        return None
