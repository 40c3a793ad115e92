"""In which queue a job is, when only its id is known.

There is no index from id to queue: it would cost every job a write and some memory, and jobs on the hot path are never
looked up. All queues are asked instead, in one round trip (on a cluster: in one to each server). The queues themselves
are read again only when a job was not found in those that were known. A server of a cluster that is away matters only
to whoever asks for a job that no other has.

For the same reason an id is looked for in other queues before its job is accepted only if it was not made together with
the job, as ours are. Such an enqueue costs three round trips more. On a single server the step that accepts the job
knows whether the id came to another queue after that look, and has it looked for again: `CHOSEN_IDS` has the latest
such ids.

On a cluster this is left open: the same id given to two queues at the same moment, so that both are looked for before
either is there. Queues are in different places, and no step reaches two of them; a place for the ids alone would cost
one more write, and hold what nobody came to use. A reservation, as names have one, does not close it: who comes late
confirms a name and begins anew, but a job that was written late may run before anybody looks. It would have to end by a
clock, which the queue's own step asks too.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from rota.errors import StoreUnavailable
from rota.model.ids import ids_between
from rota.model.job import JobSpec
from rota.store.redis.keys import CHOSEN_IDS, QueueKeys
from rota.store.redis.link.commands import Value
from rota.store.redis.link.link import Link
from rota.store.redis.link.scripts import MOST_PER_CALL, ScriptCall, parts_of

_AHEAD_MS = 20
"""A process that makes more ids than fit into a millisecond takes them from the next ones."""


class Look(NamedTuple):
    """What is known of the ids of new jobs before they are accepted."""

    held: dict[str, str]
    """The queue that has an id already, or that of the first job with it. Empty if each was made for its job."""
    chosen: frozenset[str]
    """Those that were looked for in all queues."""
    seen: int | None
    """Number of the chosen id that had come last. None where no step can tell who came since."""

    def args_of(self, specs: Sequence[JobSpec]) -> list[Value]:
        """As `enqueue_jobs` takes it."""
        if self.seen is None:
            return [0, 0]
        chosen = [spec.id for spec in specs if spec.id in self.chosen]
        return [self.seen, len(chosen), *chosen]


class Lookup:
    """Finds jobs among the queues of one store."""

    def __init__(self, link: Link, list_queues: Callable[[], list[str]]) -> None:
        self._link = link
        self._list_queues = list_queues
        self._queues_per_call = 1 if link.is_cluster else 100
        self._queues: list[str] = []

    def by_queue(self, job_ids: Iterable[str]) -> dict[str, list[str]]:
        """The jobs that are known, by queue."""
        found: dict[str, list[str]] = {}
        away: dict[str, StoreUnavailable] = {}
        missing = self._ask(self._queues, dict.fromkeys(job_ids), found, away)
        if missing:
            known, self._queues = self._queues, self._list_queues()
            missing = self._ask([queue for queue in self._queues if queue not in known], missing, found, away)
        if missing and away:
            raise next(iter(away.values()))
        return found

    def _ask(
        self,
        queues: list[str],
        job_ids: dict[str, None],
        found: dict[str, list[str]],
        away: dict[str, StoreUnavailable],
    ) -> dict[str, None]:
        """Ask these queues for jobs; returns those that none of them has, as far as they answer."""
        groups = list(parts_of(queues, self._queues_per_call))
        asked = [(group, part) for group in groups for part in parts_of(list(job_ids), MOST_PER_CALL // len(group))]
        calls: list[ScriptCall] = [
            ("known_jobs", [QueueKeys(queue).jobs for queue in group], part) for group, part in asked
        ]
        missing = dict(job_ids)
        for (group, part), answer in zip(asked, self._link.run_in_any_order(calls, away), strict=True):
            numbers = answer or []
            for queue, job in zip(numbers[::2], numbers[1::2], strict=True):
                if missing.pop(part[job], 0) is None:
                    found.setdefault(group[queue], []).append(part[job])
        return missing

    def look_for(self, specs: Sequence[JobSpec]) -> Look:
        """Whose the ids of new jobs are."""
        ids = _not_made_with_their_id(specs)
        seen = self._last_chosen() if ids and not self._link.is_cluster else None
        held = {job_id: queue for queue, known in self.by_queue(ids).items() for job_id in known} if ids else {}
        if ids or len({spec.queue for spec in specs}) > 1:
            for spec in specs:
                held.setdefault(spec.id, spec.queue)
        return Look(held, frozenset(ids), seen)

    def _last_chosen(self) -> int:
        """Asked before a look: who comes during it counts as after it."""
        return last_number(self._link.commands.zrange(CHOSEN_IDS, -1, -1, withscores=True))


def last_number(last: list[tuple[bytes, float]]) -> int:
    """The number of the chosen id that came last, as Redis tells it; 0 if there was none."""
    return int(last[0][1]) if last else 0


def _not_made_with_their_id(specs: Iterable[JobSpec]) -> list[str]:
    """Ids that were chosen by whoever asked for the job, or that are older than it, so that they may have been used, or
    that do not tell their age."""
    doubtful, made_at, first, last = [], -1, "", ""
    for spec in specs:
        if spec.enqueued_at != made_at:
            made_at = spec.enqueued_at
            first, last = ids_between(made_at, made_at + _AHEAD_MS)
        if spec.has_own_id or not first <= spec.id < last:
            doubtful.append(spec.id)
    return doubtful
