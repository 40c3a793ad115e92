"""Plain access to the server of a Redis store, for dialects: other programs' keys are theirs to spell.

Errors are translated as everywhere. A command or script is repeated once when the connection broke, so both must be
such that repeating is harmless.
"""

from collections.abc import Sequence
from typing import Any

from rota.store.redis.link.commands import Value
from rota.store.redis.link.connection import Address, translated_errors
from rota.store.redis.link.link import Link
from rota.store.redis.link.scripts import Script

_PATIENCE_S = 5.0
"""For the answer of a server that has nothing more to wait for."""


class RedisAccess:
    """Commands and scripts beside those of the store."""

    def __init__(self, link: Link) -> None:
        self._link = link

    @property
    def is_cluster(self) -> bool:
        return self._link.is_cluster

    def ask(self, command: str, *args: Any, **options: Any) -> Any:
        """Call a plain command, by redis-py's name for it."""
        return self._link.repeated(lambda: getattr(self._link.client, command)(*args, **options))

    def run(self, script: Script, keys: Sequence[str], args: Sequence[Value]) -> Any:
        """Call a script of the dialect."""
        return self._link.run_script(script, keys, args)

    def take_turn(self, key: str, who: str, *, for_ms: int) -> bool:
        """Whether it is this one's turn to do what one at a time does. Whoever comes back in time keeps it."""
        return bool(self._link.run("take_turn", [key], [who, for_ms]))

    def connect(self, *, longest_wait_s: float) -> "BlockingAccess":
        """A connection of one's own, which may wait in a blocking command for so long."""
        return BlockingAccess(self._link.address, longest_wait_s)


class BlockingAccess:
    """One connection for one waiting thread. One that was cut in silence is an error soon after the wait should have
    ended; the next wait has a new one."""

    def __init__(self, address: Address, longest_wait_s: float) -> None:
        self._where = address.shown
        with translated_errors(self._where):
            self._client: Any = address.connect(answer_timeout_s=longest_wait_s + _PATIENCE_S)

    def wait(self, *words: Any) -> Any:
        """Send a command that may block."""
        with translated_errors(self._where):
            return self._client.execute_command(*words)

    def close(self) -> None:
        """Break off a wait under way, from any thread."""
        self._client.connection_pool.disconnect()
