"""Checks of the store, and of what is in it: nodes, claims, definitions, queues."""

from collections.abc import Iterator

from rota.clock import SystemClock
from rota.engine.doctor.finding import Finding, ok, problem, warning
from rota.engine.engine import Engine
from rota.engine.executors.registry import ExecutorRegistry
from rota.engine.housekeeping.write_probe import keeps_a_value
from rota.errors import InvalidInput, StoreError
from rota.model.job import JobState
from rota.model.node import NodeType
from rota.model.triggers.durations import duration_words
from rota.model.why.words import count_of

MOST_SKEW_MS = 1_000
_LOST_LIMIT = 1_000


def check_store(rota: Engine) -> Iterator[Finding]:
    yield _clock(rota)
    for one in rota.store.problems():
        yield problem("store", one, "change the store's set-up, or choose another with --store")
    yield _probe(rota)
    for one in rota.store.troubles():
        yield problem("store", one, "see to the store's disk, memory and load; nodes go on by themselves")
    yield from _nodes(rota)
    yield from _job_types(rota)
    for node_type in rota.definitions.node_types():
        yield from _queue(rota, node_type)


def _probe(rota: Engine) -> Finding:
    try:
        kept = keeps_a_value(rota.store)
    except StoreError as error:
        return problem("store", f"it answers, but refuses to write: {error}", "free some space, or see its own log")
    if not kept:
        return problem("store", "it took a value and did not keep it", "see its own log")
    return ok("store", "it can be written")


def _clock(rota: Engine) -> Finding:
    skew_ms = rota.store.now() - SystemClock().now()
    if abs(skew_ms) <= MOST_SKEW_MS:
        return ok("clock", "this machine's clock agrees with the store's")
    ahead = "ahead of" if skew_ms < 0 else "behind"
    message = f"this machine's clock is {_span(abs(skew_ms))} {ahead} the store's"
    return warning("clock", f"{message}; nodes follow the store's", "let NTP set both clocks")


def _nodes(rota: Engine) -> Iterator[Finding]:
    now = rota.clock.now()
    found = rota.store.list_nodes(since=0)
    dead = [node for node in found if not node.is_alive(now)]
    for node in dead:
        message = f"node {node.uuid} ({node.host}:{node.pid}) was last heard of {_span(now - node.last_ping)} ago"
        yield warning("nodes", message, "find out why it died; others take over its jobs, and it is forgotten soon")
    if len(found) > len(dead):
        yield ok("nodes", f"alive: {len(found) - len(dead)}")


def _job_types(rota: Engine) -> Iterator[Finding]:
    executors = ExecutorRegistry()
    queues = {name for one in rota.definitions.node_types() for name in (one.name, one.uuid)}
    for job_type in rota.definitions.job_types():
        name = job_type.name
        if job_type.node_type not in queues:
            fix = f"rota node-type create {job_type.node_type}"
            yield problem("job types", f"{name!r} is for the node type {job_type.node_type!r}, which there is not", fix)
        try:
            executors.get(job_type.executor).check(job_type)
        except InvalidInput as error:
            fix = f"install what it needs here, or change it: rota job-type create {name} --replace ..."
            yield problem("job types", f"{name!r} cannot run: {error}", fix)


def _queue(rota: Engine, node_type: NodeType) -> Iterator[Finding]:
    now, name = rota.clock.now(), node_type.name
    if lost := _count_lost(rota, node_type, now):
        fix = "start a node (rota worker, rota scheduler or rota up): its watchdog takes them back"
        yield problem("queues", f"{count_of(lost, 'job', 'jobs')} of {name!r} in the hands of dead nodes", fix)
    counts = rota.store.count_jobs(node_type.uuid)
    waiting = counts[JobState.QUEUED] + counts[JobState.DELAYED]
    if not waiting:
        return
    told = f"{count_of(waiting, 'job waits', 'jobs wait')} in {name!r}"
    if node_type.uuid in rota.store.paused_queues():
        yield warning("queues", f"{told}, which is paused", f"rota queues resume {name}")
    if not _has_worker(rota, node_type, now):
        yield problem("queues", f"{told}, but no node serves it", f"rota worker --type {name}")


def _count_lost(rota: Engine, node_type: NodeType, now: int) -> int:
    """Jobs of nodes that have not been heard of lately. Whether these are dead is for a watchdog to say."""
    alive = {node.uuid for node in rota.store.list_nodes(since=0) if node.is_alive(now)}
    silent = [node for node in rota.store.read_pulses(node_type.uuid) if node not in alive]
    return sum(len(rota.store.claims_of_node(node_type.uuid, node, limit=_LOST_LIMIT)) for node in silent)


def _has_worker(rota: Engine, node_type: NodeType, now: int) -> bool:
    nodes = rota.store.list_nodes(since=0)
    return any(node.node_type == node_type.uuid and node.slots > 0 and node.is_alive(now) for node in nodes)


def _span(ms: int) -> str:
    """To the second; less than that in full."""
    return duration_words(ms // 1_000 * 1_000 or ms)
