"""Hears from Redis that a task's time has come. It only wakes: what Rota looks after is on time without it."""

import logging
from typing import Any

from redis.exceptions import RedisError

from rota.errors import StoreError
from rota.store.redis.link.access import RedisAccess

_PATTERN = "__keyevent@*__:expired"
_SETTING = "notify-keyspace-events"
_MOST_AT_ONCE = 10_000
_logger = logging.getLogger("rota.tasks")


def flags_suffice(flags: str) -> bool:
    """Whether Redis tells of expired keys: `KEA`, `AKE`, `xKE`, and whatever else has E, and x or A."""
    return "E" in flags and ("x" in flags or "A" in flags)


class Expiries:
    """One node's ear."""

    def __init__(self, access: RedisAccess) -> None:
        self._access = access
        self._line: Any = None

    def check(self) -> bool:
        """Whether Redis tells of expired keys. If not, the log says what to do; nothing waits for it."""
        try:
            flags = str(self._access.ask("config_get", _SETTING).get(_SETTING, ""))
        except StoreError:
            _logger.info("Redis does not say whether it tells of expired keys; tasks are on time all the same")
            return False
        if not flags_suffice(flags):
            _logger.warning(
                "Redis does not tell of expired keys: tasks are on time all the same, but one that another program "
                "only gave a ttl is found some seconds later; redis-cli config set notify-keyspace-events KEA",
                extra={"flags": flags},
            )
        return flags_suffice(flags)

    def heard(self) -> list[str]:
        """Keys that expired since the last look. A line that broke is made anew with the next look."""
        try:
            return list(dict.fromkeys(self._messages()))
        except (RedisError, OSError):
            self.close()
            return []

    def _messages(self) -> list[str]:
        if self._line is None:
            self._line = self._access.ask("pubsub", ignore_subscribe_messages=True)
            self._line.psubscribe(_PATTERN)
        found = []
        for _ in range(_MOST_AT_ONCE):
            message = self._line.get_message(timeout=0)
            if message is None:
                break
            if message.get("type") == "pmessage":
                found.append(message["data"].decode("utf-8", "replace"))
        return found

    def close(self) -> None:
        line, self._line = self._line, None
        if line is not None:
            line.close()
