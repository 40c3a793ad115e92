"""Giving jobs of the Redis store to nodes, and settling what came of them."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from msgspec.structs import replace

from rota.model.job import Claim, node_of_token, serial_of_token
from rota.model.runs.settlement import Settlement, was_carried_out
from rota.store.contract.claims import MAX_PROMOTED, MAX_SCANNED, Claims
from rota.store.records.claiming import Claiming, Wanted
from rota.store.records.unreadable import UNREADABLE_ERRORS
from rota.store.redis.link.commands import Value
from rota.store.redis.link.scripts import MOST_PER_CALL, parts_of
from rota.store.redis.nouns.claims.entries import claims, settled_entry
from rota.store.redis.nouns.claims.holds import RedisHolds
from rota.store.redis.nouns.events.awaited import event_args
from rota.store.redis.nouns.jobs.marks import claim_of
from rota.store.redis.nouns.queues.stats import stats_args, stats_keys


class RedisClaims(Claiming, RedisHolds):
    """See `rota.store.contract.claims.ClaimStore` for what each method promises."""

    def _claim(self, queue: str, wanted: Wanted) -> Claims:
        keys, args = self._claim_call(queue, wanted)
        return self._claims(queue, self._link.run("claim_jobs", keys, args, repeats=False), wanted)

    def forget_rates(self, queue: str, *, now: int, limit: int) -> int:
        k = self._keys_of(queue)
        return int(self._link.run("forget_rates", [k.rates, k.rates_due, k.rates_spent, k.held], [now, limit]))

    def begin_jobs(self, queue: str, claims: Sequence[Claim], *, now: int) -> None:
        for part in parts_of(claims):
            args: list[Value] = [now, *(text for one in part for text in (one.spec.id, one.token))]
            self._link.run("begin_jobs", [self._keys_of(queue).running], args)

    def _claim_call(self, queue: str, wanted: Wanted) -> tuple[Sequence[str], Sequence[Value]]:
        k = self._keys_of(queue)
        token, limit, now, begin = wanted
        keys = [k.jobs, k.ready, k.delayed, k.held, k.running, k.locks, k.marks, k.pulses, k.paused, k.wake]
        most = min(limit, MOST_PER_CALL)
        node, serial = node_of_token(token), serial_of_token(token)
        keys += [k.floors, k.fence, k.rates, k.rates_due, k.rates_spent, k.ended]
        return keys, [now, token, node, serial, most, MAX_PROMOTED, MAX_SCANNED, begin]

    def _claims(self, queue: str, raw: list[bytes], wanted: Wanted) -> Claims:
        token, begin = wanted.token, wanted.begin
        try:
            return claims(raw, token, begin)
        except UNREADABLE_ERRORS:
            return Claims(self._claims_one_by_one(queue, raw, token), claims(raw[:1], token, begin).next_due)

    def _claims_one_by_one(self, queue: str, raw: list[bytes], token: str) -> list[Claim]:
        """The claims of one call, also those of jobs whose records cannot be read. Reads every running job of the
        queue, which is why it is asked only when there is such a one."""
        found: dict[str, Claim] = {}
        for spec, rank, mark, fence in zip(raw[1::4], raw[2::4], raw[3::4], raw[4::4], strict=True):
            with suppress(*UNREADABLE_ERRORS):
                claim = claim_of(spec, token, rank, mark, fence)
                found[claim.spec.id] = claim
        for job_id, hold in self._holds_of(queue, node_of_token(token)).items():
            if hold.token != token:
                continue
            claim = found[job_id] if job_id in found else self._stand_in(queue, job_id, hold)
            found[job_id] = replace(claim, is_begun=hold.is_begun)
        return sorted(found.values(), key=lambda claim: (claim.rank, claim.spec.id))

    def finish_jobs(self, queue: str, settlements: Sequence[Settlement], *, now: int) -> frozenset[str]:
        return self._finish(queue, settlements, now)

    def reclaim_jobs(
        self, queue: str, settlements: Sequence[Settlement], *, node: str, pulse: str, now: int
    ) -> frozenset[str]:
        return self._finish(queue, settlements, now, node=node, pulse=pulse)

    def _finish(
        self, queue: str, settlements: Sequence[Settlement], now: int, *, node: str = "", pulse: str = ""
    ) -> frozenset[str]:
        left_over: list[bytes] = []
        for part in parts_of(settlements):
            left_over += self._finish_part(queue, part, now, node=node, pulse=pulse)
        return self._refused(queue, settlements, left_over)

    def _finish_part(
        self, queue: str, settlements: Sequence[Settlement], now: int, *, node: str = "", pulse: str = ""
    ) -> list[bytes]:
        """The ids that were not carried out."""

        def finish() -> Any:
            return self._link.run("finish_jobs", *self._finish_call(queue, settlements, now, node=node, pulse=pulse))

        return list(self._until_known(queue, finish))

    def _finish_call(
        self, queue: str, settlements: Sequence[Settlement], now: int, *, node: str = "", pulse: str = ""
    ) -> tuple[Sequence[str], Sequence[Value]]:
        k = self._keys_of(queue)
        awaited = self._awaited_ends()
        events = awaited.events_of(settlements, now)
        args: list[Value] = [now, node, pulse, *stats_args(now), *event_args(awaited, events.items())]
        for one in settlements:
            args += settled_entry(one, now)
        ended = [k.ended, k.succeeded, k.failed, k.cancelled]
        waiting = [k.ready, k.delayed, k.held, k.locks, k.unique, k.marks, k.cancelling, k.pulses, k.wake]
        return [k.running, *ended, *waiting, *stats_keys(k, now), k.outbox, k.awaited_since], args

    def _refused(self, queue: str, settlements: Sequence[Settlement], left_over: list[bytes]) -> frozenset[str]:
        """Those that were not carried out, now or earlier."""
        if not left_over:
            return frozenset()
        ids = {raw.decode() for raw in left_over}
        doubtful = [one for one in settlements if one.claim.spec.id in ids]
        jobs = self._jobs_in(queue, [one.claim.spec.id for one in doubtful])
        pairs = zip(doubtful, jobs, strict=True)
        return frozenset(one.claim.spec.id for one, job in pairs if not was_carried_out(one, job))

    def _finish_and_claim(self, queue: str, settlements: Sequence[Settlement], wanted: Wanted) -> Claims:
        now = wanted.now
        if self._link.is_cluster or len(settlements) > MOST_PER_CALL:
            refused = self.finish_jobs(queue, settlements, now=now)
            answer = self._claim(queue, wanted)
            return Claims(answer.claims, answer.next_due, refused)
        finish = ("finish_jobs", *self._finish_call(queue, settlements, now))
        claim = ("claim_jobs", *self._claim_call(queue, wanted))
        left_over, raw_claims = self._link.run_together([finish, claim])
        answer = self._claims(queue, raw_claims, wanted)
        if isinstance(left_over, int):
            self._learn_awaited(queue, left_over)
            left_over = self._finish_part(queue, settlements, now)
            answer = answer if answer.claims else self._claim(queue, wanted)  # only now it may have made some ready
        return Claims(answer.claims, answer.next_due, self._refused(queue, settlements, left_over))
