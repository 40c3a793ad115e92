"""Between claims and settlements and the arguments and answers of scripts."""

from itertools import chain, repeat

from rota.model.job import was_at_a_death
from rota.model.runs.settlement import Settlement, cancelled_ending
from rota.store.contract.claims import Claims
from rota.store.records.codec import encode
from rota.store.redis.link.commands import Value
from rota.store.redis.nouns.jobs.marks import claim_of, decode_mark, mark_of_known, whole_instant


def settled_entry(one: Settlement, now: int) -> tuple[Value, ...]:
    claim, ending = one.claim, one.ending
    if ending:
        return claim.spec.id, claim.token, ending.state, ending.ended_at, encode(ending), ""
    spec = claim.spec
    mark = mark_of_known(spec, one, one.rank, claim.token)
    score = one.rank if one.run_at is None else one.run_at
    return spec.id, claim.token, one.state, score, encode(mark), encode(cancelled_ending(one, now))


def claims(raw: list[bytes], token: str, begin: int) -> Claims:
    """From the answer of `claim_jobs`, in which the first `begin` begin at once, and those that were at a death."""
    begun = chain(repeat(True, begin), repeat(False))
    parts = zip(raw[1::4], raw[2::4], raw[3::4], raw[4::4], begun, strict=False)
    claims = [
        claim_of(spec, token, rank, mark, fence, is_begun or (mark != b"" and was_at_a_death(decode_mark(mark).past)))
        for spec, rank, mark, fence, is_begun in parts
    ]
    return Claims(claims, whole_instant(raw[0]) if raw[0] else None)
