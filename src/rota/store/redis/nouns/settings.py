"""The settings of the Redis store."""

from rota.store.redis.keys import SETTINGS
from rota.store.redis.link.part import RedisPart


class RedisSettings(RedisPart):
    """See `rota.store.contract.settings.SettingStore` for what each method promises."""

    def get_setting(self, name: str) -> str | None:
        value = self._redis.hget(SETTINGS, name)
        return value.decode() if value is not None else None

    def put_setting(self, name: str, value: str, *, only_if_absent: bool = False) -> str:
        if only_if_absent:
            # What is there is read first: a server that refuses to write must not keep a node from starting.
            kept = self.get_setting(name)
            if kept is None:
                self._redis.hsetnx(SETTINGS, name, value)
                kept = self.get_setting(name)
            return value if kept is None else kept
        self._redis.hset(SETTINGS, name, value)
        return value

    def list_settings(self, prefix: str) -> dict[str, str]:
        found = {name.decode(): value.decode() for name, value in self._redis.hgetall(SETTINGS).items()}
        return {name: found[name] for name in sorted(found) if name.startswith(prefix)}

    def delete_setting(self, name: str) -> bool:
        # Looked at first: a deletion whose answer was lost is repeated, and finds nothing.
        was_there = self._redis.hexists(SETTINGS, name)
        self._redis.hdel(SETTINGS, name)
        return bool(was_there)
