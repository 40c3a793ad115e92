"""The contract of a store, for jobs in the hands of nodes. What `store.py` says of all operations holds here too.

Who lives is not decided here, and no time in a store says it. A node's *pulse* on a queue is a text that is another one
after each of its claims and renewals; whoever watched it stay the same may act on that, by naming the pulse it saw.
"""

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from rota.model.job import Claim
from rota.model.node import Node
from rota.model.runs.settlement import Settlement

MAX_PROMOTED = 1_000
"""Delayed jobs that one claim makes ready at most, so that no single step takes long."""
MAX_SCANNED = 1_000
"""Ready jobs that one claim looks at at most, for the same reason: those whose lock is taken are blocked, those whose
rate is used up are limited."""


class Claims(Struct, frozen=True):
    """The answer to a claim."""

    claims: list[Claim]
    """In the order in which they are to run."""
    next_due: int | None = None
    """When the next delayed job of the queue becomes ready, or the next limited one may, if one is known; `now` if more
    may be ready already."""
    refused: frozenset[str] = frozenset()
    """Ids from `finish_and_claim_jobs` whose settlement was refused, because their token no longer holds the job."""


class Renewal(Struct, frozen=True):
    """The answer to `renew_claims`."""

    cancelled: list[str]
    """Held jobs whose cancellation was requested."""
    lost: list[str]
    """Jobs that the node believes it holds, but no longer does. Their runs must be stopped."""


class Lifeline(Protocol):
    """One node's own line to a store, for its signs of life: a connection that nobody else occupies, and a short
    patience. Used by one thread."""

    def renew_claims(self, queue: str, node: str, held: dict[str, str]) -> Renewal:
        """Say that the node lives and holds these jobs (id to token): it has a new pulse on the queue."""
        ...

    def beat(self, node: Node) -> None:
        """Write a node's record; its `last_ping` says when."""
        ...

    def close(self) -> None:
        """Give up the connection."""
        ...


class ClaimStore(Protocol):
    """Which node has which job, and what became of it."""

    def claim_jobs(self, queue: str, *, token: str, limit: int, now: int, begin: int | None = None) -> Claims:
        """Hand up to `limit` ready jobs to the node of `token`: pop, token and pulse in one atomic step. Fewer may come
        than there are; only none means that there is none, unless `next_due` is not after `now`: then `MAX_SCANNED`
        jobs were looked at, all of them waiting for a lock or a rate, and the caller asks again at once.

        First makes delayed jobs ready whose time has come (up to `MAX_PROMOTED` in one call). Jobs come by rank, then
        id, and each is given to one node only. A job whose lock is taken by a running job is blocked until that lock
        is free, and another is given instead; it keeps its place among those that wait for the lock. A job with a lock
        is given with a fencing number that is greater than any before in its queue.

        A job whose rate is used up is limited: no job of its rate key is given until the rate allows it, by the clock
        of the store, and another is given instead; those that are limited come back in order. Each job that is given
        counts as a start of its key for the whole period, whatever becomes of it. What waits for a rate costs other
        claims nothing.

        A paused queue gives nothing,
        and names no time that has passed. When jobs are handed out, the node has a new pulse on the queue; a claim of
        nothing writes nothing.

        The first `begin` of them begin at once, and run from now on; all of them, if it is not said. The others wait in
        the node's buffer (`Claim.is_begun` is false): they are the node's, but everybody sees and counts them as
        queued, until `begin_jobs` says that they have begun.

        A claim that comes late takes nothing: one whose serial is not above the floor that `recover_claims` set for
        its node. A store whose clock is its own makes nothing ready before that clock says so, whatever `now` is.
        """
        ...

    def begin_jobs(self, queue: str, claims: Sequence[Claim], *, now: int) -> None:
        """Jobs that waited in their node's buffer have begun: from now on they run, for everybody. What its token no
        longer holds stays as it is. Need not be said of a job that ends soon; it can be settled without."""
        ...

    def finish_jobs(self, queue: str, settlements: Sequence[Settlement], *, now: int) -> frozenset[str]:
        """Carry out settlements of claimed jobs; returns the ids that were refused.

        A settlement is carried out if its token holds the job, which then moves to the settlement's state: an ended
        job gets its ending, a returning one its new attempts, deaths, rank and time; a returning job whose
        cancellation was requested is cancelled instead. An ended job frees its unique key; every settled job frees its
        lock, and the next job that waits for the lock is ready at once. Refused is whatever another token holds, or
        none; a settlement that had been carried out before is not refused and changes nothing.

        An end that some configuration or flow waits for is put into the outbox in the same step, whatever the process
        that settles it knew of that configuration. This holds wherever a job ends: one that returns and is cancelled
        instead, one that is cancelled while it waits, one that gives way to the next of its schedule.
        """
        ...

    def finish_and_claim_jobs(
        self,
        queue: str,
        settlements: Sequence[Settlement],
        *,
        token: str,
        limit: int,
        now: int,
        begin: int | None = None,
    ) -> Claims:
        """`finish_jobs`, then `claim_jobs`, in one round trip where the store can."""
        ...

    def lifeline(self, *, timeout_s: float) -> Lifeline:
        """A node's own line to the store, whose calls give up after about `timeout_s`."""
        ...

    def recover_claims(self, queue: str, node: str, held: dict[str, str], *, floor: int, now: int) -> int:
        """Put back jobs that the store holds for the node, but of which the node knows nothing; returns how many.

        That is what a claim leaves whose answer was lost on the way. They return as they were: no attempt, no death
        counted. One whose cancellation was requested is cancelled, and its end told. From then on claims of the node up
        to the serial `floor` take nothing, so that one which is still on its way cannot leave more of the kind. Need
        not be one step: nobody but the node claims for it.
        """
        ...

    def leave_queue(self, queue: str, node: str, *, floor: int, now: int) -> None:
        """The node leaves the queue: what it still holds there goes back as in `recover_claims`, and it has no pulse
        any more. A claim that the network has held up takes nothing when it comes, for an hour at least."""
        ...

    def read_pulses(self, queue: str) -> dict[str, str]:
        """The pulse of each node that claimed or renewed on the queue and has not left."""
        ...

    def claims_of_node(self, queue: str, node: str, *, limit: int) -> list[Claim]:
        """What the node holds, and since when. Costs as much as the queue has running jobs, so it is read for dead
        nodes only."""
        ...

    def reclaim_jobs(
        self, queue: str, settlements: Sequence[Settlement], *, node: str, pulse: str, now: int
    ) -> frozenset[str]:
        """`finish_jobs` on behalf of a dead node: everything is refused if its pulse is no longer the one given."""
        ...

    def forget_pulse(self, queue: str, node: str, *, pulse: str) -> None:
        """Forget a dead node, unless it has another pulse now. It may live and only have been silent: claims up to the
        floor that `recover_claims` set for it, which the network has held up, take nothing, for an hour at least."""
        ...

    def try_to_write(self, queue: str) -> None:
        """Make a write where the pulses of the queue are that changes nothing. It waits, or is refused, whenever a sign
        of life there would be."""
        ...

    def mark_orphans(self, queue: str) -> int:
        """Give nodes that hold claims without having a pulse one that never changes, so that they are found dead;
        returns how many. No operation here leaves such a node, but people and restored backups do."""
        ...

    def forget_rates(self, queue: str, *, now: int, limit: int) -> int:
        """Forget rates of which no start counts any more, by the clock of the store, and for which no job waits; at
        most `limit`, and fewer while jobs wait for others: done again, it goes on. Returns how many. Claims that count
        starts do so too, but there may be no more of them."""
        ...
