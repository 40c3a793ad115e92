"""What every noun of the store is built on."""

from rota.store.records.unreadable import UnreadableRecords
from rota.store.redis.keys import QueueKeys
from rota.store.redis.link.link import Link


class RedisPart:
    """A part of the store. The parts of one store share their link and what they remember; a part that needs operations
    of another noun inherits that one."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._redis = link.commands
        self._unreadable = UnreadableRecords()
        self._keys: dict[str, QueueKeys] = {}

    def _keys_of(self, queue: str) -> QueueKeys:
        keys = self._keys.get(queue)
        if keys is None:
            keys = self._keys[queue] = QueueKeys(queue)
        return keys
