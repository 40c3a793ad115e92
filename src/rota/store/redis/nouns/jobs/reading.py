"""Reading the jobs of the Redis store: by id, and page by page. By its id alone a job is found as `lookup.py` says."""

from collections.abc import Iterable, Iterator, Sequence

from rota.model.job import Job, JobState
from rota.store.contract.jobs import JobPage, JobQuery, Wait
from rota.store.records import listing
from rota.store.redis.keys import QueueKeys
from rota.store.redis.link.link import Link
from rota.store.redis.link.scripts import MOST_PER_CALL, parts_of
from rota.store.redis.nouns.jobs.lookup import Lookup
from rota.store.redis.nouns.jobs.marks import hold_of, job_of, rank_of_blocked, whole_rank
from rota.store.redis.nouns.queues.queues import RedisQueues


class RedisJobReading(RedisQueues):
    """See `rota.store.contract.jobs.JobStore` for what each method promises."""

    def __init__(self, link: Link) -> None:
        super().__init__(link)
        self._lookup = Lookup(link, self.list_queues)

    def find_jobs(self, job_ids: Sequence[str], *, queue: str | None = None) -> list[Job | None]:
        if queue is not None:
            return self._jobs_in(queue, job_ids)
        found: dict[str, Job] = {}
        for queue, known in self._lookup.by_queue(job_ids).items():
            found |= {job.id: job for job in self._jobs_in(queue, known) if job}
        return [found.get(job_id) for job_id in job_ids]

    def _jobs_in(self, queue: str, job_ids: Sequence[str]) -> list[Job | None]:
        """Jobs of one queue, one answer per id, in order."""
        k = self._keys_of(queue)
        keys = [k.jobs, k.ready, k.delayed, k.running, k.ended, k.marks, k.cancelling]
        parts = self._link.run_each([("find_jobs", keys, part) for part in parts_of(job_ids)])
        raw = [field for part in parts for field in part]
        return [job_of(queue, job_id, *raw[n * 5 : n * 5 + 5]) for n, job_id in enumerate(job_ids)]

    def read_wait(self, queue: str, job_id: str) -> Wait | None:
        k = self._keys_of(queue)
        found = self._link.run("read_wait", [k.ready, k.held, k.locks, k.marks, k.rates_due], [job_id])
        if not found:
            return None
        ahead, lock_holder, limited_until = found
        return Wait(int(ahead), lock_holder.decode() or None, int(limited_until) if limited_until else None)

    def list_jobs(self, query: JobQuery, *, limit: int, cursor: str | None = None) -> JobPage:
        return listing.list_jobs(self, query, limit, cursor)

    def read_section(
        self, section: str, queue: str, states: Iterable[JobState], *, after: listing.Place, limit: int
    ) -> list[tuple[listing.Place, Job]]:
        """See `listing.SectionReader`."""
        wanted = frozenset(states)
        found: list[tuple[listing.Place, Job]] = []
        while len(found) < limit:
            places = self._places(section, self._keys_of(queue), wanted, after, limit)
            jobs = self._jobs_in(queue, [job_id for _, job_id in places]) if places else []
            # A job that moved on between the two steps is not of this section any more. Others take its place, because
            # a short answer means that there are no more.
            found += [(place, job) for place, job in zip(places, jobs, strict=True) if job and job.state in wanted]
            if len(places) < limit:
                break
            after = places[-1]
        return found[:limit]

    def _places(
        self, section: str, keys: QueueKeys, states: Iterable[JobState], after: listing.Place, limit: int
    ) -> list[listing.Place]:
        if section == "ended":
            sets = {"succeeded": keys.succeeded, "failed": keys.failed, "cancelled": keys.cancelled}
            places = [place for state in states for place in self._page(sets[state], after, limit, latest_first=True)]
            return sorted(places, reverse=True)[:limit]
        if section in ("buffered", "running"):
            held = [(hold_of(text), id.decode()) for id, text in self._redis.hgetall(keys.running).items()]
            if section == "running":
                places = [(hold.began_at, job_id) for hold, job_id in held if hold.is_begun]
            else:
                places = [(whole_rank(hold.rank), job_id) for hold, job_id in held if not hold.is_begun]
        elif section == "blocked":
            members = [member.rsplit(b"\0", 2) for member in self._blocked(keys)]
            places = [(rank_of_blocked(rank), job_id.decode()) for _, rank, job_id in members]
        else:
            key = keys.delayed if section == "delayed" else keys.ready
            return self._page(key, after, limit, latest_first=False)
        return sorted(place for place in places if place > after)[:limit]

    def _blocked(self, keys: QueueKeys) -> Iterator[bytes]:
        """All jobs that wait for a lock, read in short steps."""
        last: str | bytes = "-"
        while part := self._redis.zrangebylex(keys.held, last, "+", start=0, num=MOST_PER_CALL):
            yield from part
            last = b"(" + part[-1]

    def _page(self, key: str, after: listing.Place, limit: int, *, latest_first: bool) -> list[listing.Place]:
        """Members of a sorted set behind a place. Jobs of one millisecond share a score: those up to the place are
        passed."""
        read = self._redis.zrevrangebyscore if latest_first else self._redis.zrangebyscore
        edge = "-inf" if latest_first else "+inf"
        places: list[listing.Place] = []
        offset = 0
        while len(places) < limit:
            raw = read(key, after[0], edge, start=offset, num=limit, withscores=True)
            found = [(int(score) if score.is_integer() else score, member.decode()) for member, score in raw]
            places += [place for place in found if (place < after if latest_first else place > after)]
            offset += len(raw)
            if len(raw) < limit:
                break
        return places[:limit]
