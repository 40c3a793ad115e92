"""Between model values and the arguments and answers of scripts."""

from rota.model.job import JobSpec, rank_of
from rota.model.settlement import Settlement, cancelled_ending
from rota.store.claims import Claims
from rota.store.records.codec import encode
from rota.store.redis.marks import Mark, claim_of, mark_of
from rota.store.redis.scripts import Value


def new_entry(spec: JobSpec, now: int) -> tuple[Value, ...]:
    waits = spec.run_at is not None and spec.run_at > now
    rank = rank_of(spec.priority, spec.available_at)
    due = spec.run_at if waits and spec.run_at is not None else ""
    return spec.id, encode(spec), rank, due, mark_of(spec, rank, waits=waits), spec.unique_key or ""


def retried_entry(spec: JobSpec, now: int) -> tuple[Value, ...]:
    rank = rank_of(spec.priority, now)
    return spec.id, rank, mark_of(spec, rank, waits=False), spec.unique_key or ""


def settled_entry(one: Settlement, now: int) -> tuple[Value, ...]:
    claim, ending = one.claim, one.ending
    if ending:
        return claim.spec.id, claim.token, ending.state, ending.ended_at, encode(ending), ""
    spec = claim.spec
    mark = Mark(str(one.rank), one.attempts, one.deaths, spec.lock_key, spec.unique_key, claim.token)
    score = one.rank if one.run_at is None else one.run_at
    return spec.id, claim.token, one.state, score, encode(mark), encode(cancelled_ending(one, now))


def claims(raw: list[bytes], token: str) -> Claims:
    parts = zip(raw[1::4], raw[2::4], raw[3::4], raw[4::4], strict=True)
    claims = [claim_of(spec, token, rank, mark, fence) for spec, rank, mark, fence in parts]
    return Claims(claims, int(raw[0]) if raw[0] else None)
