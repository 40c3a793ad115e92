"""Which ends of jobs some configuration waits for, as the process knows that settles them."""

from rota.store.contract.events import Awaited, awaited_ends
from rota.store.redis.nouns.definitions import RedisDefinitions


class RedisAwaited(RedisDefinitions):
    """Remembers what was read, because it is needed with every end. `RedisListening` has those learn it who do not know
    yet."""

    _awaited = Awaited(-1)
    _read_version = -1
    """Of the definitions, when `_awaited` was read."""

    def _awaited_ends(self) -> Awaited:
        """As far as known. A version that this process has seen since is reason to look again."""
        if self._read_version != self._seen_version:
            self._read_awaited()
        return self._awaited

    def _read_awaited(self, since: int = 0) -> None:
        """Learn which ends are waited for, having heard that it changed with the version `since`. After a fail-over the
        definitions may be of an older one than that, for ever."""
        version = self.definitions_version()  # first, so that what is read is at least as new
        listening, job_types = self.listening_configurations(), self.list_job_types()
        self._awaited = awaited_ends(max(version, since), listening, job_types)
        self._read_version = version
