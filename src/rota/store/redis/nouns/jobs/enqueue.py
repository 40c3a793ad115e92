"""One enqueue under way: the jobs that were handed in together, and what becomes of each."""

from collections.abc import Mapping, Sequence

from rota.errors import InvalidInput
from rota.model.job import JobSpec
from rota.store.contract.jobs import Admission
from rota.store.redis.nouns.jobs.lookup import Look

_MOST_ENQUEUED = 100_000
"""Jobs of one queue in one call. They are one step, and a command has a million arguments at most."""


class Enqueue:
    """All jobs of one call. Each counts as accepted until it is known that it is not new."""

    __slots__ = ("accepted", "admissions", "now", "specs")

    def __init__(self, specs: Sequence[JobSpec], now: int) -> None:
        self.specs = specs
        self.now = now
        self.admissions = [Admission(spec.id, True) for spec in specs]
        self.accepted = 0
        """By the steps that were taken so far."""

    def by_queue(self, look: Look) -> list["NewJobs"]:
        """Those that are new as far as `look` tells; what goes to one queue is one step."""
        by_queue: dict[str, list[int]] = {}
        for index in self.pick_new(range(len(self.specs)), look):
            by_queue.setdefault(self.specs[index].queue, []).append(index)
        for queue, indexes in by_queue.items():
            if len(indexes) > _MOST_ENQUEUED:
                raise InvalidInput("jobs", f"{len(indexes)} jobs for {queue} at once; {_MOST_ENQUEUED} is the most")
        return [NewJobs(self, queue, indexes, look) for queue, indexes in by_queue.items()]

    def pick_new(self, indexes: Sequence[int], look: Look) -> Sequence[int]:
        """Which of these jobs are new; those whose id another queue has are not."""
        if not look.held:
            return indexes
        new = []
        for index in indexes:
            spec = self.specs[index]
            if look.held.get(spec.id, spec.queue) == spec.queue:
                new.append(index)
            else:
                self.admissions[index] = Admission(spec.id, False)
        return new


class NewJobs:
    """Those jobs of an enqueue that are handed to their queue in one step, which knows each by its number there."""

    __slots__ = ("_enqueue", "_indexes", "look", "now", "queue", "specs")

    def __init__(self, enqueue: Enqueue, queue: str, indexes: Sequence[int], look: Look) -> None:
        """`look` was for these and perhaps others of the same enqueue."""
        self.queue = queue
        self.specs = [enqueue.specs[index] for index in indexes]
        self.look = look
        self.now = enqueue.now
        self._enqueue = enqueue
        self._indexes = indexes

    def after(self, look: Look) -> "NewJobs":
        """Those that are still new when they were looked for again."""
        return NewJobs(self._enqueue, self.queue, self._enqueue.pick_new(self._indexes, look), look)

    def accept_all_but(self, survivors: Mapping[int, bytes]) -> int:
        """Their step was taken: all were accepted but those in whose place others are, by number. Returns how many."""
        for number, survivor in survivors.items():
            self._enqueue.admissions[self._indexes[number]] = Admission(survivor.decode(), False)
        accepted = len(self.specs) - len(survivors)
        self._enqueue.accepted += accepted
        return accepted

    def in_the_way(self) -> set[str]:
        """Ids of other jobs that were there in place of some of these."""
        return {self._enqueue.admissions[index].job_id for index in self._kept_out()}

    def once_more(self, gone: set[str]) -> "NewJobs":
        """Those that were kept out by jobs that are gone now. They count as accepted again."""
        admissions = self._enqueue.admissions
        again = [index for index in self._kept_out() if admissions[index].job_id in gone]
        for index in again:
            admissions[index] = Admission(self._enqueue.specs[index].id, True)
        return NewJobs(self._enqueue, self.queue, again, self.look)

    def _kept_out(self) -> list[int]:
        specs, admissions = self._enqueue.specs, self._enqueue.admissions
        return [index for index in self._indexes if admissions[index].job_id != specs[index].id]
