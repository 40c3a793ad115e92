"""Topics that do not take records, such as those that this instance may not write to. What is due for them goes to the
dead letters for a while, so that one of them does not stop the others."""

from collections.abc import Mapping

_LASTS_MS = 60_000


class Refusals:
    """By topic: why, and until when it is not tried again."""

    def __init__(self) -> None:
        self._by_topic: dict[str, tuple[int, str]] = {}

    def add(self, refused: Mapping[str, str], now: int) -> None:
        self._by_topic |= {topic: (now + _LASTS_MS, reason) for topic, reason in refused.items()}

    def reason(self, topic: str, now: int) -> str | None:
        """Why a topic is not tried now; None if it is."""
        if not self._by_topic:
            return None
        until, reason = self._by_topic.get(topic, (0, ""))
        if until > now:
            return reason
        self._by_topic.pop(topic, None)
        return None
