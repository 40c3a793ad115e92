"""Which ends of jobs some configuration or flow waits for, as the process knows that ends them."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from rota.model.events.event import Event
from rota.model.job import Ending
from rota.store.contract.events import Awaited, awaited_ends
from rota.store.records.codec import decode_spec, encode
from rota.store.redis.link.commands import Value
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

    def _until_known(self, queue: str, end_jobs: Callable[[], Any]) -> Any:
        """The answer of a script that ends jobs of a queue. If other ends are waited for than this process knows, it
        has done nothing and says so; then the process looks again, and has it done once more."""
        while isinstance(answer := end_jobs(), int):
            self._learn_awaited(queue, answer)
        return answer

    def _learn_awaited(self, queue: str, since: int) -> None:
        """Look again, because a queue says that the version `since` must be known. 0: it was told of none.

        Nobody told a queue that was made after the last change. Whoever ends its first jobs does: a version that is
        read now, when the queue has jobs and is listed, is at least that of any change which did not find it.
        """
        if not since:
            self._raise_awaited_since(queue, self.definitions_version())
        self._read_awaited(since)

    def _events_if_ended(self, queue: str, job_ids: Sequence[str], ending: Ending) -> list[Value]:
        """As `event_args`, for jobs of which only the ids are known."""
        awaited = self._awaited_ends()
        records = self._redis.hmget(self._keys_of(queue).jobs, job_ids) if job_ids else []
        specs = self._unreadable.read_all("job of queue", queue, decode_spec, [one for one in records if one])
        events = ((spec.id, awaited.event_of(spec, ending)) for spec in specs)
        return event_args(awaited, ((job_id, event) for job_id, event in events if event))


def event_args(awaited: Awaited, events: Iterable[tuple[str, Event]]) -> list[Value]:
    """Ends of jobs, by id, as the scripts that end jobs take them: see the include `ends`."""
    args = [part for job_id, event in events for part in (job_id, event.time, encode(event))]
    return [len(args) // 3, awaited.version, *args]
