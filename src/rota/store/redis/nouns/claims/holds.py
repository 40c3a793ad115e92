"""What nodes hold in the Redis store, and how it comes back from those that do not know of it or are dead."""

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import structs

from rota.model.job import Claim, JobState, node_of_token
from rota.model.runs.settlement import cancelled_before_run
from rota.store.records.codec import encode
from rota.store.records.unreadable import UNREADABLE_ERRORS, unreadable_spec
from rota.store.redis.link.commands import Value
from rota.store.redis.link.scripts import MOST_PER_CALL, parts_of
from rota.store.redis.nouns.claims.lifeline import RedisLifeline
from rota.store.redis.nouns.events.awaited import RedisAwaited
from rota.store.redis.nouns.jobs.marks import Hold, claim_of, hold_of, whole_rank
from rota.store.redis.nouns.jobs.reading import RedisJobReading
from rota.store.redis.nouns.queues.stats import stats_args, stats_keys

_LEFT_FOR_MS = 3_600_000
"""For how long it is known which claims of a node that has left, or was forgotten, come too late: longer than any
network holds one up."""


class RedisHolds(RedisJobReading, RedisAwaited):
    """See `rota.store.contract.claims.ClaimStore` for what each method promises."""

    def lifeline(self, *, timeout_s: float) -> RedisLifeline:
        return RedisLifeline(self._link.address, timeout_s)

    def read_pulses(self, queue: str) -> dict[str, str]:
        raw = self._redis.hgetall(self._keys_of(queue).pulses)
        return {node.decode(): pulse.decode() for node, pulse in raw.items()}

    def forget_pulse(self, queue: str, node: str, *, pulse: str) -> None:
        keys = self._keys_of(queue)
        self._link.run("forget_pulse", [keys.pulses, keys.floors, keys.inbox(node)], [node, pulse, _LEFT_FOR_MS])

    def try_to_write(self, queue: str) -> None:
        # As `renew_claims` begins: neither is refused by a server whose memory is full.
        self._redis.persist(self._keys_of(queue).pulses)

    def mark_orphans(self, queue: str) -> int:
        holders = {node_of_token(hold.decode()) for _, hold in self._holds(queue)}
        unknown = sorted(holders - self.read_pulses(queue).keys())
        return sum(int(self._redis.hsetnx(self._keys_of(queue).pulses, node, "")) for node in unknown)

    def recover_claims(self, queue: str, node: str, held: dict[str, str], *, floor: int, now: int) -> int:
        # The floor comes first: what is claimed under it was claimed before, and the scan meets it.
        self._link.run("raise_floor", [self._keys_of(queue).floors], [node, floor])
        found = self._holds_of(queue, node)
        return self._put_back(
            queue, [(id, hold.token) for id, hold in found.items() if held.get(id) != hold.token], now
        )

    def _put_back(self, queue: str, claims: Sequence[tuple[str, str]], now: int) -> int:
        return sum(self._put_back_part(queue, some, now) for some in parts_of(claims))

    def _put_back_part(self, queue: str, claims: Sequence[tuple[str, str]], now: int) -> int:
        k = self._keys_of(queue)
        keys = [k.running, k.ready, k.held, k.locks, k.marks, k.cancelling, k.wake, k.ended, k.cancelled, k.unique]
        keys += [*stats_keys(k, now), k.outbox, k.awaited_since]
        ending = cancelled_before_run(now)

        def put_back() -> Any:
            events = self._events_if_ended(queue, [job_id for job_id, _ in claims], ending)
            args: list[Value] = [now, encode(ending), *stats_args(now), *events]
            return self._link.run("recover_claims", keys, [*args, *(part for claim in claims for part in claim)])

        return len(self._until_known(queue, put_back))

    def leave_queue(self, queue: str, node: str, *, floor: int, now: int) -> None:
        self.recover_claims(queue, node, {}, floor=floor, now=now)
        keys = self._keys_of(queue)
        self._link.run("leave_queue", [keys.pulses, keys.floors, keys.inbox(node)], [node, floor, _LEFT_FOR_MS])

    def claims_of_node(self, queue: str, node: str, *, limit: int) -> list[Claim]:
        holds = list(self._holds_of(queue, node, limit).items())
        keys = self._keys_of(queue)
        claims: list[Claim] = []
        for some in parts_of(holds):
            raw = self._link.run("read_claims", [keys.jobs, keys.marks], [job_id for job_id, _ in some])
            for (job_id, hold), spec, mark in zip(some, raw[::2], raw[1::2], strict=True):
                try:
                    claim = claim_of(spec, hold.token, hold.rank, mark, is_begun=hold.is_begun)
                except UNREADABLE_ERRORS:
                    claim = self._stand_in(queue, job_id, hold)
                claims.append(structs.replace(claim, began_at=hold.began_at or None))
        return claims

    def _stand_in(self, queue: str, job_id: str, hold: Hold) -> Claim:
        """The claim of a job whose record cannot be read."""
        (job,) = self._jobs_in(queue, [job_id])
        rank, is_begun = whole_rank(hold.rank), hold.is_begun
        if job is None:
            spec = unreadable_spec(job_id, queue, "its record is gone")
            return Claim(spec, hold.token, rank, 0, 0, is_begun=is_begun)
        attempts = job.attempts - (job.state is JobState.RUNNING)
        return Claim(job.spec, hold.token, rank, attempts, job.deaths, past=job.past, is_begun=is_begun)

    def _holds_of(self, queue: str, node: str, limit: int | None = None) -> dict[str, Hold]:
        """What is known of each job that the node holds. Read in pieces, so that nobody waits long for the server."""
        prefix = f"{node}/".encode()
        found: dict[str, Hold] = {}
        for job_id, hold in self._holds(queue):
            if hold.startswith(prefix):
                found[job_id.decode()] = hold_of(hold)
                if limit is not None and len(found) >= limit:
                    break
        return found

    def _holds(self, queue: str) -> Iterator[tuple[bytes, bytes]]:
        cursor = 0
        while True:
            cursor, some = self._redis.hscan(self._keys_of(queue).running, cursor, count=MOST_PER_CALL)
            yield from some.items()
            if not cursor:
                return
