"""Schedules: what a fire costs, how late it is, and how quickly `next` is found. Run: python -m benchmarks.schedules

Rota writes the tick, its job and the schedule's state to a store in one step; APScheduler 3 keeps all in memory and
writes nothing. Both run in the same call, one after the other, in a process of their own. CPU is that of the scheduler
and of the store's server together, from /proc, while fires go on; making the schedules is not counted.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from msgspec import structs

from benchmarks.cron_next import next_of_lines
from benchmarks.machine import free_port
from benchmarks.servers import find_redis_server
from rota.engine.engine import Engine
from rota.engine.schedules.ticker import Ticker
from rota.model.ids import new_id
from rota.model.job import JobState
from rota.model.job_type import JobType
from rota.model.node import NodeType
from rota.model.schedules.request import CatchUpRequest, ScheduleRequest
from rota.model.schedules.ticking import first_state
from rota.store import Store, open_store
from rota.store.contract.schedules import Firing, ScheduleChange
from rota.store.redis.store import RedisStore

Result = dict[str, Any]
PEER_SCHEDULES = 100_000
"""APScheduler looks at a heap of all its jobs in Python; with more it does not keep up."""
_BATCH = 1_000


class World:
    """A store with schedules, and a ticker that fires them."""

    def __init__(self, store: Store) -> None:
        self.store = store
        engine = Engine.open(store)
        self.clock = engine.clock
        self.definitions = engine.definitions
        now = self.clock.now()
        self.queue = self.definitions.ensure_node_type(NodeType(uuid=new_id(now), name="default")).uuid
        self.definitions.define_job_type(JobType(uuid=new_id(now), name="noop", executor="log"))
        self.schedules = engine.schedules
        self.ticker = Ticker(store, self.definitions, node="0" * 36)
        self.late_ms: list[int] = []
        self._watch()

    def define(self, count: int, wish: ScheduleRequest, phases: Callable[[int], int]) -> None:
        """So many schedules that differ in name and phase."""
        now = self.clock.now()
        model = self.schedules.make(wish, new_id(now), now)
        batch: list[ScheduleChange] = []
        for number in range(count):
            trigger = structs.replace(model.trigger, phase_ms=phases(number))  # type: ignore[type-var]
            one = structs.replace(model, uuid=new_id(now), name=f"s{number:07}", trigger=trigger)
            batch.append(ScheduleChange(one, first_state(one, now + 3_000), None))
            if len(batch) == _BATCH or number == count - 1:
                self.store.put_schedules(batch)
                batch = []

    def drain(self) -> None:
        """Fire what came due while schedules were made."""
        while self.ticker.run_once(self.clock.now()) == 0:
            pass
        self.late_ms.clear()

    def run(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(self.ticker.run_once(self.clock.now()))

    def _watch(self) -> None:
        fire = self.store.fire_schedules

        def watched(queue: str, firings: list[Firing], *, now: int) -> list[bool]:
            answers = fire(queue, firings, now=now)
            at = self.clock.now()
            self.late_ms += [at - tick.nominal for firing in firings for tick in firing.ticks]
            return answers

        self.store.fire_schedules = watched  # type: ignore[method-assign,assignment]


@contextmanager
def opened(kind: str) -> Iterator[tuple[World, Callable[[], float]]]:
    """A world on a fresh store, and the CPU seconds used so far for it, here and in its server."""
    with tempfile.TemporaryDirectory() as folder:
        port = free_port()
        server = _start_redis(folder, port) if kind == "redis" else None
        try:
            store = open_store(
                f"redis://127.0.0.1:{port}/0" if server else f"sqlite:///{folder}/rota.db?synchronous=NORMAL"
            )
            yield World(store), lambda: time.process_time() + (_cpu_s(server.pid) if server else 0.0)
            store.close()
        finally:
            if server:
                server.terminate()
                server.wait()


def _start_redis(folder: str, port: int) -> subprocess.Popen[bytes]:
    binary = find_redis_server()
    if binary is None:
        raise SystemExit("no redis-server or valkey-server on this machine")
    words = [binary, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", folder]
    server = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    time.sleep(1.0)
    return server


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def steady(kind: str, count: int, per_second: int, seconds: float) -> Result:
    """Many are defined, a few of them are due at any time."""
    with opened(kind) as (world, cpu_s):
        period = count * 1000 // per_second
        world.define(count, ScheduleRequest(job_type="noop", interval=period, anchor="epoch"), lambda n: n % period)
        world.drain()
        before = cpu_s()
        world.run(seconds)
        used = cpu_s() - before
        late = sorted(world.late_ms)
        return {
            "case": "steady",
            "store": kind,
            "defined": count,
            "fires": len(late),
            "us_per_fire": round(used / max(1, len(late)) * 1e6, 1),
            "late_p50_ms": late[len(late) // 2],
            "late_p99_ms": late[len(late) * 99 // 100],
            "late_max_ms": late[-1],
        }


def burst(kind: str, defined: int, due: int) -> Result:
    """Many are due in the same second."""
    with opened(kind) as (world, cpu_s):
        at = world.clock.now() + 6_000 + (defined + due) // 20
        world.define(defined, ScheduleRequest(job_type="noop", interval="1000d", anchor="epoch"), lambda n: 0)
        wish = ScheduleRequest(job_type="noop", at=at)
        now = world.clock.now()
        model = world.schedules.make(wish, new_id(now), now)
        some = [structs.replace(model, uuid=new_id(now), name=f"b{number:07}") for number in range(due)]
        for start in range(0, due, _BATCH):
            world.store.put_schedules(
                [ScheduleChange(one, first_state(one, now), None) for one in some[start : start + _BATCH]]
            )
        world.drain()
        time.sleep(max(0.0, (at - world.clock.now()) / 1000 - 0.1))
        before = cpu_s()
        while world.store.count_jobs(world.queue)[JobState.QUEUED] < due:
            world.run(0.05)
        return {
            "case": "burst",
            "store": kind,
            "defined": defined + due,
            "fires": due,
            "us_per_fire": round((cpu_s() - before) / due * 1e6, 1),
            "late_max_ms": max(world.late_ms),
        }


def idle(kind: str, count: int, seconds: float) -> Result:
    """Many are defined and none is due."""
    with opened(kind) as (world, cpu_s):
        world.define(count, ScheduleRequest(job_type="noop", interval="1000d", anchor="epoch"), lambda n: 0)
        world.drain()
        before = cpu_s()
        world.run(seconds)
        percent = round((cpu_s() - before) / seconds * 100, 2)
        return {"case": "idle", "store": kind, "defined": count, "cpu_percent": percent}


def catch_up(kind: str, count: int, missed: int, overlap: str) -> Result:
    """Many schedules make up for many ticks each, at once; how long is the longest step of the store?"""
    with opened(kind) as (world, cpu_s):
        now = world.clock.now()
        policy = CatchUpRequest(mode="all", max=missed, window="none")
        wish = ScheduleRequest(job_type="noop", interval=60_000, anchor="epoch", catch_up=policy, overlap=overlap)
        model = world.schedules.make(wish, new_id(now), now)
        some = [structs.replace(model, uuid=new_id(now), name=f"c{number:07}") for number in range(count)]
        state = first_state(model, now - missed * 60_000)
        world.store.put_schedules([ScheduleChange(one, state, None) for one in some])
        with watched_steps(world.store) as longest_ms:
            before, begin = cpu_s(), time.monotonic()
            while world.store.count_jobs(world.queue)[JobState.QUEUED] < count * missed:
                time.sleep(world.ticker.run_once(world.clock.now()))
            return {
                "case": "catch_up",
                "store": kind,
                "overlap": overlap,
                "schedules": count,
                "fires": count * missed,
                "us_per_fire": round((cpu_s() - before) / (count * missed) * 1e6, 1),
                "seconds": round(time.monotonic() - begin, 2),
                "longest_step_ms": round(longest_ms(), 1),
            }


@contextmanager
def watched_steps(store: Store) -> Iterator[Callable[[], float]]:
    """How long the longest script of the server took, or the longest transaction, since."""
    if isinstance(store, RedisStore):
        access = store.access()
        access.ask("config_set", "slowlog-log-slower-than", 500)
        access.ask("config_set", "slowlog-max-len", 100_000)
        access.ask("slowlog_reset")
        yield lambda: max(one["duration"] for one in access.ask("slowlog_get", 100_000)) / 1000
        return
    database = store._database  # type: ignore[attr-defined]
    write, took = database.write, [0.0]

    @contextmanager
    def timed() -> Iterator[object]:
        with write() as db:
            begin = time.monotonic()
            yield db
        took.append((time.monotonic() - begin) * 1000)

    database.write = timed
    yield lambda: max(took)
    database.write = write


def apscheduler(count: int, per_second: int, seconds: float) -> Result:
    """The same steady load in APScheduler 3, in memory."""
    from apscheduler.executors.pool import ThreadPoolExecutor  # type: ignore[import-untyped]
    from apscheduler.schedulers.background import BackgroundScheduler  # type: ignore[import-untyped]

    late: list[float] = []
    period = count / per_second

    def note(due: float) -> None:
        late.append((time.time() - due) * 1000)

    pool, defaults = {"default": ThreadPoolExecutor(4)}, {"misfire_grace_time": 60}
    scheduler = BackgroundScheduler(executors=pool, job_defaults=defaults)
    begin = datetime.now(UTC) + timedelta(seconds=count / 25_000 + 2)
    for number in range(count):
        at = begin + timedelta(seconds=number % count / per_second)
        scheduler.add_job(note, "interval", seconds=period, start_date=at, args=[at.timestamp()], next_run_time=at)
    scheduler.start()
    time.sleep(max(0.0, (begin - datetime.now(UTC)).total_seconds()))
    late.clear()
    before = time.process_time()
    time.sleep(seconds)
    used, found = time.process_time() - before, sorted(late)
    scheduler.shutdown(wait=False)
    return {
        "case": "steady",
        "store": "APScheduler 3, memory",
        "defined": count,
        "fires": len(found),
        "us_per_fire": round(used / max(1, len(found)) * 1e6, 1),
        "late_p50_ms": round(found[len(found) // 2], 1),
        "late_p99_ms": round(found[len(found) * 99 // 100], 1),
        "late_max_ms": round(found[-1], 1),
    }


CASES: dict[str, Callable[..., Result]] = {
    "steady": steady,
    "burst": burst,
    "idle": idle,
    "catch_up": catch_up,
    "apscheduler": apscheduler,
    "next": next_of_lines,
}


def _plan(count: int, seconds: float) -> list[tuple[str, list[object]]]:
    stores = ("redis", "sqlite")
    peer = min(count, PEER_SCHEDULES)
    return [
        *(("steady", [kind, count, 1_000, seconds]) for kind in stores),
        ("apscheduler", [peer, 1_000, seconds]),
        *(("burst", [kind, 10_000, 10_000]) for kind in stores),
        *(("idle", [kind, peer, seconds]) for kind in stores),
        *(("catch_up", [kind, 500, 100, overlap]) for kind in stores for overlap in ("allow", "buffer_all")),
        *(("catch_up", [kind, 1, 10_000, "allow"]) for kind in stores),
        *(("next", [zone]) for zone in ("UTC", "Europe/Berlin")),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--schedules", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--case", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.case:
        name, arguments = json.loads(options.case)
        print(json.dumps(CASES[name](*arguments)))
        return
    for case in _plan(options.schedules, options.seconds):
        words = [sys.executable, "-m", "benchmarks.schedules", "--case", json.dumps(case)]
        ended = subprocess.run(words, capture_output=True, text=True)
        print(ended.stdout.strip() or f"{case} failed: {ended.stderr.strip().splitlines()[-1:]}", flush=True)


if __name__ == "__main__":
    main()
