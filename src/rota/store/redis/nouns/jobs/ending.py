"""How jobs of the Redis store are ended by others than the node that runs them."""

from collections.abc import Iterable, Sequence
from typing import Any

from rota.model.job import Ending, JobSpec
from rota.model.runs.settlement import expired_before_run, has_expired
from rota.store.contract.jobs import CancelAnswer
from rota.store.records.codec import encode
from rota.store.redis.keys import QueueKeys
from rota.store.redis.link.scripts import parts_of
from rota.store.redis.nouns.events.awaited import RedisAwaited
from rota.store.redis.nouns.jobs.reading import RedisJobReading
from rota.store.redis.nouns.queues.signals import tell_to_cancel
from rota.store.redis.nouns.queues.stats import stats_args, stats_keys


class RedisEnding(RedisJobReading, RedisAwaited):
    """For the nouns that make jobs, and end others for them."""

    def _expire_for(self, queue: str, specs: Iterable[JobSpec], now: int) -> None:
        """End those jobs that did not begin in time and have a unique key of these, which are about to be made. A step
        of its own: who dies after it has ended what nobody needs."""
        keys = sorted({spec.unique_key for spec in specs if spec.unique_key is not None})
        if keys:
            holders = self._redis.hmget(self._keys_of(queue).unique, keys)
            self._expire_in(queue, {holder.decode() for holder in holders if holder}, now)

    def _expire_in(self, queue: str, job_ids: set[str], now: int) -> set[str]:
        """Of some jobs those that ended because they did not begin in time. One that a node has, that node ends. A
        caller whose clock is ahead of the servers' ends nothing early."""
        found = [job for part in parts_of(sorted(job_ids)) for job in self._jobs_in(queue, part)]
        late = [job for job in found if job and not job.state.is_final and has_expired(job, now)]
        if not late:
            return set()
        now = min(now, self._link.now())
        late_ids = [job.id for job in late if has_expired(job, now)]
        ending = expired_before_run(now)
        answers = [one for part in parts_of(late_ids) for one in self._cancel_in(queue, part, ending, now)]
        return {job_id for job_id, answer in answers if answer is CancelAnswer.CANCELLED}

    def _cancel_in(
        self, queue: str, job_ids: Sequence[str], ending: Ending, now: int
    ) -> Iterable[tuple[str, CancelAnswer]]:
        k = self._keys_of(queue)
        keys = [k.jobs, k.ready, k.delayed, k.held, k.running, k.locks, k.unique, k.marks, k.ended, k.cancelled]
        keys += [k.cancelling, k.wake, *stats_keys(k, now), k.outbox, k.awaited_since, k.rates_due]
        was_repeated = False

        def cancel() -> Any:
            nonlocal was_repeated
            events = self._events_if_ended(queue, job_ids, ending)
            args = [now, encode(ending), *stats_args(now), *events, *job_ids]
            words, is_repeated = self._link.run_and_tell("cancel_jobs", keys, args)
            was_repeated |= is_repeated
            return words

        words = self._until_known(queue, cancel)
        own = self._cancelled_before(k, job_ids, encode(ending)) if was_repeated else set()
        for job_id, word in zip(job_ids, (raw.decode() for raw in words), strict=True):
            if "/" in word:
                tell_to_cancel(self._link, k, job_id, word)
                yield job_id, CancelAnswer.REQUESTED
            else:
                yield job_id, CancelAnswer.CANCELLED if job_id in own else CancelAnswer(word)

    def _cancelled_before(self, keys: QueueKeys, job_ids: Sequence[str], ending: bytes) -> set[str]:
        """Jobs that a repeated call found ended because it had cancelled them itself: they have the ending it gives."""
        kept = self._redis.hmget(keys.ended, job_ids)
        return {job_id for job_id, body in zip(job_ids, kept, strict=True) if body == ending}
