"""One soak on one store: set up, load and faults, drain, judge."""

import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from msgspec import Struct, field

from rota.errors import StoreError
from rota.model.job import LIVE_STATES, Job
from rota.sdk.client import Client
from rota.store import Store, open_store
from rota.store.contract.jobs import JobQuery
from tests.ports import free_port
from tests.servers import ServerError, wait_until
from tests.soak.definitions import (
    CLOCK,
    CLOCK_MS,
    LONE,
    MUST_FAIL,
    OTHERS_END,
    TICK_MS,
    WITHOUT_LEDGER,
    write_definitions,
)
from tests.soak.faults import Faults
from tests.soak.judge import (
    Court,
    JobFact,
    Overlaps,
    Repeats,
    TickRow,
    judge_ends,
    judge_overlaps,
    judge_repeats,
    judge_ticks,
    succeeded_without_end,
)
from tests.soak.ledger import read_lines, runs_of
from tests.soak.leftovers import left_in_redis, left_in_sqlite, still_listed
from tests.soak.load import Load
from tests.soak.nodes import Fleet
from tests.soak.recovery import Recovery, Scene
from tests.soak.stores import STORES, SoakStore

KEY = "dev_key"
WORKERS = 3
DRAIN_S = 240.0
"""For the next end of a job when the faults are over; the longest takes 45 s, and may have to begin again."""
_PAGE = 1_000
_MOST_TICKS = 2_000


class Evidence(Struct, kw_only=True):
    """What was seen of one soak: what is wrong (lists of sentences, empty when all is well), and how much was done."""

    lost: list[str]
    stuck: list[str]
    ended_twice: list[str]
    without_run: list[str]
    wrong_ends: list[str]
    poisoned: list[str]
    doubled_ticks: int = 0
    lost_ticks: int = 0
    lost_events: int
    doubled_events: int
    repeats: Repeats
    recoveries: list[Recovery]
    overlaps: Overlaps
    orphans: list[str]
    leftovers: list[str] = []
    deserters: list[str]
    stragglers: list[str] = []
    soak_failures: list[str]

    runs: int
    jobs: Counter[str]
    """By job type."""
    accepted: int
    ticks: int = 0
    events: int
    turned_away: int
    """Nodes that found no store at their start and were started again."""
    refusals: int
    """How often producers were told that the store or server is away."""
    faults: Counter[str]
    diary: list[str] = field(default_factory=list)


def soak(kind: str, *, minutes: float, seed: int, folder: Path) -> Evidence:
    """Run one soak; what it keeps of it is in the folder."""
    chance = random.Random(f"{seed}/{kind}")
    port = free_port()
    with STORES[kind](folder, chance) as soaked, Fleet(soaked.url, folder, _seats(folder, port)) as fleet:
        store = open_store(soaked.plain_url)
        try:
            wait_until(lambda: len(store.list_nodes(since=0)) == len(fleet.names), "all nodes to beat")
            faults = Faults(fleet, soaked, store, random.Random(f"{seed}/{kind}/faults"))
            load = Load(soaked.url, f"http://127.0.0.1:{port}", KEY, folder, seed)
            with load, faults:
                time.sleep(minutes * 60)
            _drain(store, f"http://127.0.0.1:{port}")
            evidence = _look(store, fleet, load, faults)
            fleet.stop_all()
            evidence.stragglers, evidence.orphans = fleet.stragglers, fleet.orphans
            evidence.leftovers = still_listed(store.list_nodes(since=0), [node.output for node in fleet.all])
            evidence.leftovers += _left_in_store(soaked, store, folder)
            return evidence
        finally:
            store.close()


def _seats(folder: Path, port: int) -> dict[str, list[str]]:
    """Several workers, one alone with its queue, a scheduler, and a server."""
    config = ["--config", str(write_definitions(folder))]
    workers = {f"worker-{number}": ["worker", *config] for number in range(1, WORKERS + 1)}
    return {
        **workers,
        LONE: ["worker", "--node-type", LONE, *config],
        "scheduler": ["scheduler", *config],
        "server": ["server", "--port", str(port), *config],
    }


def _drain(store: Store, server: str) -> None:
    """No more ticks, then wait until everything has ended. What does not is the judge's business."""
    with Client(server, key=KEY) as client:
        _insist(lambda: [client.pause_schedule(one.uuid) for one in list(client.schedules())])
    with suppress(ServerError):
        while not _is_drained(store):
            _await_an_end(store)


def _insist(act: Callable[[], object]) -> None:
    end = time.monotonic() + DRAIN_S
    while True:
        try:
            act()
            return
        except StoreError:
            if time.monotonic() > end:
                raise
            time.sleep(0.5)


def _await_an_end(store: Store) -> None:
    """However slow the machine is, nothing is stuck as long as jobs end."""
    before = _live_jobs(store)
    wait_until(lambda: _live_jobs(store) < before or _is_drained(store), "a job to end", deadline_s=DRAIN_S)


def _live_jobs(store: Store) -> int:
    counts = [store.count_jobs(queue) for queue in _queues(store)]
    return sum(count[state] for count in counts for state in LIVE_STATES)


def _is_drained(store: Store) -> bool:
    return not _live_jobs(store) and not any(store.read_outbox(queue, limit=1) for queue in _queues(store))


def _look(store: Store, fleet: Fleet, load: Load, faults: Faults) -> Evidence:
    """Read the ledger and the store, and judge."""
    lives = [node.life for node in fleet.all]
    runs, jobs = runs_of(read_lines(fleet.ledger)), _facts(store, load.cancelled)
    court = Court(lives, faults.blind, {job.id for job in jobs if job.holds_lock})
    known, by_type = {job.id for job in jobs}, Counter(job.type for job in jobs)
    heard, repeats = by_type["heard"], judge_repeats(court, runs)
    scene = Scene(lives, faults.blind, faults.paused, runs)
    evidence = Evidence(
        lost=sorted(load.accepted - known),
        stuck=[f"job {job.id} ({job.type}): {job.state}" for job in jobs if not job.state.is_final],
        ended_twice=_ended_twice(store),
        without_run=succeeded_without_end(jobs, runs),
        wrong_ends=judge_ends(jobs),
        poisoned=[f"job {job.id} ({job.type})" for job in jobs if job.error == "poison"],
        lost_events=max(load.events - heard, 0),
        doubled_events=max(heard - load.events - load.events_unknown, 0),
        repeats=repeats,
        recoveries=[scene.recovery(first, second) for first, second in repeats.after_kills],
        overlaps=judge_overlaps(court, runs),
        orphans=[],
        deserters=fleet.deserters,
        soak_failures=[*load.failures, *faults.failures],
        runs=len(runs),
        jobs=by_type,
        accepted=len(load.accepted),
        events=load.events,
        turned_away=len(fleet.turned_away),
        refusals=load.errors,
        faults=faults.counts,
        diary=faults.diary,
    )
    _look_at_ticks(store, evidence)
    return evidence


def _look_at_ticks(store: Store, evidence: Evidence) -> None:
    for entry in store.list_schedules(limit=_PAGE).entries:
        step_ms = TICK_MS if entry.schedule.name != CLOCK else CLOCK_MS
        ticks = store.list_ticks(entry.schedule.uuid, limit=_MOST_TICKS)
        rows = [TickRow(tick.nominal, tick.until or tick.nominal, tick.count, tick.job) for tick in ticks]
        doubled, lost = judge_ticks(rows, step_ms)
        evidence.doubled_ticks += doubled
        evidence.lost_ticks += lost
        evidence.ticks += sum(row.count for row in rows)


def _ended_twice(store: Store) -> list[str]:
    """Every end is counted in the step that ends a job; in history a job stands once."""
    found = []
    for queue in _queues(store):
        totals, counts = store.read_totals(queue), store.count_jobs(queue)
        ends = totals.succeeded + totals.failed + totals.cancelled
        ended = sum(count for state, count in counts.items() if state not in LIVE_STATES)
        if ends != ended:
            found.append(f"queue {queue}: {ends} ends of {ended} jobs")
    return found


def _all_jobs(store: Store) -> Iterator[Job]:
    cursor = None
    while True:
        page = store.list_jobs(JobQuery(), limit=_PAGE, cursor=cursor)
        yield from page.jobs
        cursor = page.cursor
        if cursor is None:
            return


def _facts(store: Store, cancelled: set[str]) -> list[JobFact]:
    job_types = {job_type.uuid: job_type.name for job_type in store.list_job_types()}
    schedules = {entry.schedule.uuid: entry.schedule.name for entry in store.list_schedules(limit=_PAGE).entries}

    def fact(job: Job) -> JobFact:
        name = job_types.get(job.spec.job_type, "unknown")
        schedule = schedules.get(job.spec.cause.name) if job.spec.cause else None
        failures = job.spec.arguments.get("failures", 0)
        return JobFact(
            id=job.id,
            type=name,
            state=job.state,
            attempts=job.attempts,
            failures=failures if isinstance(failures, int) else 0,
            error=str(job.errors.get("type", "")) if isinstance(job.errors, dict) else "",
            keeps_ledger=name not in WITHOUT_LEDGER,
            holds_lock=job.spec.lock_key is not None,
            may_be_cancelled=job.id in cancelled or schedule in OTHERS_END,
            must_fail=name == MUST_FAIL,
        )

    return [fact(job) for job in _all_jobs(store)]


def _queues(store: Store) -> list[str]:
    return [node_type.uuid for node_type in store.list_node_types()]


def _left_in_store(soaked: SoakStore, store: Store, folder: Path) -> list[str]:
    if soaked.ports:
        return left_in_redis(soaked.ports, _queues(store), store)
    return left_in_sqlite(folder / "rota.db")
