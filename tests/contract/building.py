"""Short ways to make jobs, claims and settlements, by the model's own rules."""

from collections.abc import Iterator

from msgspec import structs

from rota.model.ids import new_id
from rota.model.job import Cause, Claim, Job, JobSpec, JobState, make_token, node_of_token
from rota.model.job_type import OnNodeDeath
from rota.model.node import Node
from rota.model.runs.log import LogEntry
from rota.model.runs.outcome import INTERRUPTED, Outcome, failed, succeeded
from rota.model.runs.retry import RetryPolicy
from rota.model.runs.settlement import Settlement, settle, settle_death
from rota.store import Store
from rota.store.contract.claims import Renewal
from rota.store.contract.jobs import JobPage, JobQuery
from rota.store.contract.logs import LogBatch

NOW = 1_700_000_000_000
"""An instant on a whole step of `rank_of`, so that ready times survive the way through a rank."""
LATER = NOW + 10_000
FAR_MS = 1_000_000
ONCE = RetryPolicy(attempts=1)
OFTEN = RetryPolicy(attempts=5, delay_ms=1_000, factor=1.0, jitter=0.0)
RETRY_DELAY_MS = 1_000
"""What `OFTEN` waits between two attempts."""

_serials = iter(range(1, 1 << 62))


def new_queue() -> str:
    return new_id(NOW)


def new_node() -> str:
    return new_id(NOW)


def spec(
    queue: str,
    *,
    now: int = NOW,
    job_id: str | None = None,
    job_type: str = "0190b0c0-0000-7000-8000-000000000001",
    arguments: dict[str, object] | None = None,
    priority: int = 0,
    run_at: int | None = None,
    unique_key: str | None = None,
    lock_key: str | None = None,
    rate_key: str | None = None,
    cause: Cause | None = None,
    series: tuple[str, ...] = (),
) -> JobSpec:
    """What is asked for: a job that was enqueued at `now`."""
    return JobSpec(
        id=job_id or new_id(now),
        job_type=job_type,
        queue=queue,
        enqueued_at=now,
        arguments=arguments or {},
        priority=priority,
        run_at=run_at,
        unique_key=unique_key,
        lock_key=lock_key,
        rate_key=rate_key,
        cause=cause,
        series=series,
    )


def enqueue(store: Store, *specs: JobSpec, now: int = NOW) -> list[str]:
    """Hand in jobs; returns the ids of the surviving ones."""
    return [admission.job_id for admission in store.enqueue_jobs(specs, now=now)]


def token_of(node: str) -> str:
    """A fresh attempt token of the node."""
    return make_token(node, next(_serials))


def claim(store: Store, queue: str, *, node: str | None = None, limit: int = 100, now: int = NOW) -> list[Claim]:
    """Claim what is ready, for a given or a new node."""
    token = token_of(node or new_node())
    return store.claim_jobs(queue, token=token, limit=limit, now=now).claims


def claim_one(store: Store, queue: str, *, node: str | None = None, now: int = NOW) -> Claim:
    """Claim exactly one job, which must be there."""
    claims = claim(store, queue, node=node, limit=1, now=now)
    assert len(claims) == 1, f"expected one ready job, got {claims}"
    return claims[0]


def given(store: Store, queue: str, *, limit: int = 100, now: int = NOW) -> list[str]:
    """The ids that a claim of a new node is given, in order."""
    return [each.spec.id for each in claim(store, queue, limit=limit, now=now)]


def claim_all(store: Store, queue: str, *, now: int = NOW) -> list[Claim]:
    """Claim until nothing is ready: a store may give fewer at a time than it is asked for."""
    claims: list[Claim] = []
    while batch := claim(store, queue, limit=10_000, now=now):
        claims.extend(batch)
    return claims


def settled(claim: Claim, outcome: Outcome, now: int = NOW, *, policy: RetryPolicy = ONCE) -> Settlement:
    """The settlement of a run that started and ended at `now`."""
    return settle(claim, outcome, policy=policy, started_at=now, now=now, chance=0.0)


def succeed(claim: Claim, now: int = NOW, results: object = None) -> Settlement:
    return settled(claim, succeeded(results), now)


def fail(claim: Claim, now: int = NOW, errors: object = None) -> Settlement:
    """A last attempt that failed."""
    return settled(claim, failed(errors), now)


def fail_and_retry(claim: Claim, now: int = NOW) -> Settlement:
    """An attempt that failed and has another one after `RETRY_DELAY_MS`."""
    return settled(claim, failed("try again"), now, policy=OFTEN)


def interrupt(claim: Claim, now: int = NOW) -> Settlement:
    return settled(claim, INTERRUPTED, now)


def die(claim: Claim, now: int = NOW, on_node_death: OnNodeDeath = OnNodeDeath.REQUEUE) -> Settlement:
    """What the death of the node makes of a claim."""
    return settle_death(claim, on_node_death=on_node_death, now=now)


def reclaim(store: Store, *settlements: Settlement, now: int = LATER) -> frozenset[str]:
    """Take claims of one queue from dead nodes, whatever their pulse is now; returns the refused ids."""
    queue = settlements[0].claim.spec.queue
    pulses = store.read_pulses(queue)
    refused: frozenset[str] = frozenset()
    for node in {node_of_token(one.claim.token) for one in settlements}:
        mine = [one for one in settlements if node_of_token(one.claim.token) == node]
        refused |= store.reclaim_jobs(queue, mine, node=node, pulse=pulses.get(node, ""), now=now)
    return refused


def renew(store: Store, queue: str, node: str, *held: Claim) -> Renewal:
    """A sign of life of a node that holds these claims."""
    lifeline = store.lifeline(timeout_s=60)
    try:
        return lifeline.renew_claims(queue, node, {each.spec.id: each.token for each in held})
    finally:
        lifeline.close()


def beat(store: Store, *records: Node) -> None:
    """Write records of nodes."""
    lifeline = store.lifeline(timeout_s=60)
    for record in records:
        lifeline.beat(record)
    lifeline.close()


def claims_of(store: Store, queue: str, node: str) -> list[Claim]:
    """Everything that a node holds, as it was given."""
    found = store.claims_of_node(queue, node, limit=100_000)
    return [structs.replace(one, began_at=None) for one in found]


def finish(store: Store, *settlements: Settlement, now: int = NOW) -> frozenset[str]:
    """Carry out settlements of one queue; returns the refused ids."""
    return store.finish_jobs(settlements[0].claim.spec.queue, settlements, now=now)


def ended_job(store: Store, queue: str, state: JobState, *, now: int = NOW, unique_key: str | None = None) -> str:
    """A job that is in the given final state since `now`; nothing else may be ready in the queue."""
    job = spec(queue, now=now, unique_key=unique_key)
    enqueue(store, job, now=now)
    if state is JobState.CANCELLED:
        store.cancel_jobs([job.id], now=now)
        return job.id
    claimed = claim_one(store, queue, now=now)
    assert claimed.spec.id == job.id, "another job was ready in the queue"
    finish(store, succeed(claimed, now) if state is JobState.SUCCEEDED else fail(claimed, now), now=now)
    return job.id


def find(store: Store, job_id: str) -> Job:
    """The job, which must be there."""
    (job,) = store.find_jobs([job_id])
    assert job is not None, f"job {job_id} is lost"
    return job


def state_of(store: Store, job_id: str) -> JobState:
    return find(store, job_id).state


def states_of(store: Store, job_ids: list[str]) -> list[JobState | None]:
    return [job.state if job else None for job in store.find_jobs(job_ids)]


def counts(store: Store, queue: str) -> dict[JobState, int]:
    """How many jobs of each state there are, without the states that have none."""
    return {state: count for state, count in store.count_jobs(queue).items() if count}


def pages(store: Store, query: JobQuery, *, limit: int = 100) -> Iterator[JobPage]:
    """All pages of a listing, one after the other."""
    cursor: str | None = None
    for _ in range(10_000):
        page = store.list_jobs(query, limit=limit, cursor=cursor)
        assert len(page.jobs) <= limit
        yield page
        cursor = page.cursor
        if cursor is None:
            return
    raise AssertionError("the listing never ends")


def listed(store: Store, query: JobQuery, *, limit: int = 100) -> list[str]:
    """The ids on all pages, in order."""
    return [job.id for page in pages(store, query, limit=limit) for job in page.jobs]


def log_batch(claim: Claim, *messages: str, now: int = NOW) -> LogBatch:
    """Log lines that the holder of a claim writes."""
    entries = [LogEntry(time=now, message=message, attempt=claim.attempt) for message in messages]
    return LogBatch(claim.spec.queue, claim.spec.id, claim.token, entries)


def messages_of(store: Store, job_id: str) -> list[str]:
    return [entry.message for entry in store.read_logs(job_id).entries]
