"""What becomes of jobs in the Redis store, beside their claims: they are enqueued, cancelled, retried and deleted.

A step whose answer was lost is repeated, and finds done what it did itself. Then what is there now tells what it was
that did it.
"""

from collections.abc import Sequence
from typing import Any

from rota.errors import InvalidInput, StoreFull
from rota.model.job import Job, JobSpec
from rota.model.runs.settlement import cancelled_before_run
from rota.store.contract.jobs import Admission, CancelAnswer
from rota.store.records.codec import encode
from rota.store.redis.keys import CHOSEN_IDS, QueueKeys
from rota.store.redis.link.commands import Value
from rota.store.redis.link.scripts import parts_of
from rota.store.redis.nouns.jobs.ending import RedisEnding
from rota.store.redis.nouns.jobs.enqueue import Enqueue, NewJobs
from rota.store.redis.nouns.jobs.entries import is_retried, new_entry, retried_entry
from rota.store.redis.nouns.queues.stats import stats_args, stats_keys

_FORGOTTEN = -1
"""The answer of `enqueue_jobs.lua` if the queue was forgotten since it was listed."""
MOST_DELETED = 500
"""Jobs that one step forgets: their logs are many small values."""


class RedisJobs(RedisEnding):
    """See `rota.store.contract.jobs.JobStore` for what each method promises."""

    def enqueue_jobs(self, specs: Sequence[JobSpec], *, now: int) -> list[Admission]:
        enqueue = Enqueue(specs, now)
        by_queue = enqueue.by_queue(self._lookup.look_for(specs))
        try:
            for new in by_queue:
                if self._enqueue(new) < len(new.specs):
                    self._enqueue_after_expired(new)
        except StoreFull as error:
            raise StoreFull(
                f"{error}; of {len(specs)} jobs {enqueue.accepted} were accepted by this call, which may be repeated "
                "with the same ids"
            ) from error
        for new in by_queue:  # when all is written, so that an error can say so
            self._link.await_replicas(self._keys_of(new.queue).synced)
        return enqueue.admissions

    def enqueue_jobs_within(self, connection: object, specs: Sequence[JobSpec], *, now: int) -> list[Admission]:
        raise InvalidInput("connection", f"{self._link.url} takes no part in a database's transactions; use an outbox")

    def _enqueue(self, new: NewJobs) -> int:
        """One step for all of them, whatever their number: a server that is full takes all or none. Returns how many
        were accepted."""
        is_known = new.queue in self._known_queues
        if not is_known:
            self._remember_queue(new.queue)
        answer, was_repeated = self._admit(new, is_known=is_known)
        while isinstance(answer, int):
            if answer == _FORGOTTEN:
                self._remember_queue(new.queue)
                is_known = False
            else:
                new = new.after(self._lookup.look_for(new.specs))
            answer, is_repeated = self._admit(new, is_known=is_known)
            was_repeated |= is_repeated
        if not answer:
            return new.accept_all_but({})
        own = self._accepted_before(new, answer) if was_repeated else set()
        refused = {number: text for number, text in zip(answer[::2], answer[1::2], strict=True) if number not in own}
        return new.accept_all_but(refused)

    def _admit(self, new: NewJobs, *, is_known: bool) -> tuple[Any, bool]:
        """What `enqueue_jobs.lua` answers, and whether it was repeated. `is_known` says that the queue was listed some
        time ago: it may have been forgotten since."""
        k, now, look = self._keys_of(new.queue), new.now, new.look
        keys = [k.jobs, k.ready, k.delayed, k.unique, k.marks, k.wake, *stats_keys(k, now), k.series]
        args = [*stats_args(now), int(is_known), *look.args_of(new.specs)]
        for spec in new.specs:
            args += new_entry(spec, now)
        return self._link.run_and_tell("enqueue_jobs", keys if look.seen is None else [*keys, CHOSEN_IDS], args)

    def _enqueue_after_expired(self, new: NewJobs) -> None:
        """End those jobs that have a unique key and did not begin in time, and accept what they kept out. A step of its
        own: who dies before it has ended what nobody needs, and accepted the others only."""
        expired = self._expire_in(new.queue, new.in_the_way(), new.now)
        again = new.once_more(expired)
        if again.specs:
            self._enqueue(again)

    def _accepted_before(self, new: NewJobs, answer: list[Any]) -> set[int]:
        """Jobs that a repeated call found to be known, because it had accepted them itself when its answer was lost:
        what is kept is exactly what was handed in, the instant included."""
        first = {new.specs[number].id: number for number in reversed(answer[::2])}
        kept = self._redis.hmget(self._keys_of(new.queue).jobs, list(first))
        return {number for number, body in zip(first.values(), kept, strict=True) if body == encode(new.specs[number])}

    def cancel_jobs(self, job_ids: Sequence[str], *, now: int) -> list[CancelAnswer]:
        answers = dict.fromkeys(job_ids, CancelAnswer.UNKNOWN)
        for queue, known in self._lookup.by_queue(job_ids).items():
            for part in parts_of(known):
                answers.update(self._cancel_in(queue, part, cancelled_before_run(now), now))
        return [answers[job_id] for job_id in job_ids]

    def retry_jobs(self, job_ids: Sequence[str], *, now: int) -> list[bool]:
        retried: set[str] = set()
        for queue, jobs in self._known_by_queue(job_ids).items():
            for part in parts_of(jobs):
                retried |= self._retry_in(queue, part, now)
        return [job_id in retried for job_id in job_ids]

    def _retry_in(self, queue: str, jobs: Sequence[Job], now: int) -> set[str]:
        k = self._keys_of(queue)
        keys = [k.ready, k.failed, k.cancelled, k.ended, k.unique, k.marks, k.wake]
        args: list[Value] = [word for job in jobs for word in retried_entry(job.spec, now)]
        answers, was_repeated = self._link.run_and_tell("retry_jobs", keys, args)
        retried = {job.id for job, done in zip(jobs, answers, strict=True) if done}
        return retried | self._retried_before(queue, jobs, now) if was_repeated else retried

    def _retried_before(self, queue: str, jobs: Sequence[Job], now: int) -> set[str]:
        """Jobs that a repeated call found alive, because it had brought them back itself: they had ended when they were
        looked at, and have the rank it gives."""
        ended = [job for job in jobs if job.state.is_final]
        after = self._jobs_in(queue, [job.id for job in ended])
        return {job.id for job in after if job and is_retried(job, now)}

    def _known_by_queue(self, job_ids: Sequence[str]) -> dict[str, list[Job]]:
        """Those jobs that are known, by queue; each once."""
        found: dict[str, list[Job]] = {}
        for job in self.find_jobs(list(dict.fromkeys(job_ids))):
            if job:
                found.setdefault(job.spec.queue, []).append(job)
        return found

    def list_series(
        self,
        queue: str,
        series: str,
        *,
        since: int = 0,
        until: int | None = None,
        limit: int,
        after: Job | None = None,
        latest_first: bool = False,
    ) -> list[Job]:
        key = self._keys_of(queue).series
        first, last = f"[{series}\t{since:015d}", f"({series}\n" if until is None else f"({series}\t{until:015d}"
        behind = f"({series}\t{after.spec.enqueued_at:015d}\t{after.id}" if after else ""
        if latest_first:
            members = self._redis.zrevrangebylex(key, behind or last, first, start=0, num=limit)
        else:
            members = self._redis.zrangebylex(key, behind or first, last, start=0, num=limit)
        ids = [member.rpartition(b"\t")[2].decode() for member in members]
        found = [job for part in parts_of(ids) for job in self._jobs_in(queue, part)]
        return [job for job in found if job is not None]

    def count_series(self, queue: str, series: str) -> int:
        return int(self._redis.zlexcount(self._keys_of(queue).series, f"[{series}\t", f"({series}\n"))

    def delete_jobs(self, job_ids: Sequence[str]) -> list[bool]:
        deleted: set[str] = set()
        for queue, jobs in self._known_by_queue(job_ids).items():
            for part in parts_of([job.id for job in jobs], MOST_DELETED):
                deleted |= self._delete_in(queue, part)
        return [job_id in deleted for job_id in job_ids]

    def _delete_in(self, queue: str, job_ids: Sequence[str]) -> set[str]:
        """Forget those of some jobs that have ended. All of them were there a moment ago, so those that a repeated call
        does not find it deleted itself."""
        k = self._keys_of(queue)
        keys = [k.jobs, k.ended, k.succeeded, k.failed, k.cancelled, k.marks, k.series, k.progress]
        answers, was_repeated = self._link.run_and_tell("delete_jobs", [*keys, *map(k.log, job_ids)], job_ids)
        deleted = {job_id for job_id, done in zip(job_ids, answers, strict=True) if done}
        return deleted | self._gone_of(k, job_ids) if was_repeated else deleted

    def _gone_of(self, keys: QueueKeys, job_ids: Sequence[str]) -> set[str]:
        kept = self._redis.hmget(keys.jobs, job_ids)
        return {job_id for job_id, body in zip(job_ids, kept, strict=True) if body is None}
