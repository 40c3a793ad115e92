"""The Redis store. Each operation is one Lua script of its name; `keys.py` spells the keys.

Answers of Redis come as bytes; ids and tokens are ASCII. A job is looked up by its id alone by asking every queue:
there are few of them, and jobs on the hot path are never looked up.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Self

from redis.cluster import RedisCluster
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import NoScriptError, ResponseError

from rota.errors import Conflict
from rota.model.job import FINAL_STATES, Claim, Job, JobSpec, JobState, node_of_token
from rota.model.job_type import JobType
from rota.model.node import Node, NodeType
from rota.model.settlement import Settlement, cancelled_before_run, was_carried_out
from rota.store import listing
from rota.store.codec import decode_job_type, decode_log_entry, decode_node, decode_node_type, encode
from rota.store.redis.access import RedisAccess
from rota.store.redis.connection import Address, check_server, translated_errors
from rota.store.redis.entries import claims, new_entry, retried_entry, settled_entry
from rota.store.redis.events import RedisEvents
from rota.store.redis.keys import (
    EVENT_QUEUES,
    JOB_TYPES,
    NODE_TYPES,
    NODES,
    PINGS,
    QUEUES,
    SETTINGS,
    DefinitionKeys,
    QueueKeys,
)
from rota.store.redis.marks import claim_of, job_of, rank_of_held
from rota.store.redis.schedules import RedisSchedules
from rota.store.redis.scripts import Value, load_scripts
from rota.store.redis.stats import hours_between, stats_args, stats_keys, stats_of, totals_of
from rota.store.redis.waker import RedisWaker
from rota.store.store import (
    MAX_PROMOTED,
    Admission,
    CancelAnswer,
    Claims,
    JobPage,
    JobQuery,
    LogBatch,
    LogPage,
    Renewal,
    Stats,
)

SCRIPTS = load_scripts()
_MOST_PER_CALL = 1000
"""Lua can unpack about 8,000 values; entries take up to two each."""


class RedisStore(RedisSchedules, RedisEvents):
    """See `rota.store.store.Store` for what each method promises."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._known_queues: set[str] = set()
        self._keys: dict[str, QueueKeys] = {}
        with translated_errors(address.shown):
            self._client = address.connect()
            self._problems = check_server(self._client, address.shown)
        self._is_cluster = isinstance(self._client, RedisCluster)

    @classmethod
    def open(cls, url: str) -> Self:
        return cls(Address(url))

    # -- the store itself ------------------------------------------------------------------------------------------

    @property
    def url(self) -> str:
        return self._address.shown

    def now(self) -> int:
        options = {"target_nodes": RedisCluster.RANDOM} if self._is_cluster else {}
        seconds, micros = self._ask("time", **options)
        return int(seconds) * 1000 + int(micros) // 1000

    def problems(self) -> list[str]:
        return self._problems

    def close(self) -> None:
        self._client.close()

    def access(self) -> RedisAccess:
        """The server itself, for dialects with keys of their own."""
        return RedisAccess(self._address, self._client)

    def _run(self, name: str, keys: Sequence[str], args: Sequence[Value], *, repeats: bool = True) -> Any:
        """Call a script. One that may be repeated survives a connection that broke since it was last used."""
        with translated_errors(self.url):
            try:
                return SCRIPTS[name].call(self._client, keys, args)
            except RedisConnectionError:
                if not repeats:
                    raise
                return SCRIPTS[name].call(self._client, keys, args)

    def _ask(self, command: str, *args: Any, **options: Any) -> Any:
        """Call a plain command, all of which may be repeated."""
        with translated_errors(self.url):
            try:
                return getattr(self._client, command)(*args, **options)
            except RedisConnectionError:
                return getattr(self._client, command)(*args, **options)

    def _of(self, queue: str) -> QueueKeys:
        keys = self._keys.get(queue)
        if keys is None:
            keys = self._keys[queue] = QueueKeys(queue)
        return keys

    # -- definitions -----------------------------------------------------------------------------------------------

    def put_node_types(self, node_types: Sequence[NodeType]) -> None:
        self._put_definitions(NODE_TYPES, "node type", node_types)

    def put_job_types(self, job_types: Sequence[JobType]) -> None:
        self._put_definitions(JOB_TYPES, "job type", job_types)
        if self.listening_configurations():
            self._change_awaited()  # they wait for names, and one may belong to another job type now

    def _put_definitions(
        self, keys: DefinitionKeys, kind: str, definitions: Sequence[NodeType] | Sequence[JobType]
    ) -> None:
        args = [part for one in definitions for part in (one.uuid, one.name, encode(one))]
        taken = self._run("put_definitions", [keys.bodies, keys.names, keys.version], args)
        if taken:
            raise Conflict(f"another {kind} has the name {taken.decode()!r}")

    def list_node_types(self) -> list[NodeType]:
        return sorted(map(decode_node_type, self._ask("hvals", NODE_TYPES.bodies)), key=lambda one: one.name)

    def list_job_types(self) -> list[JobType]:
        return sorted(map(decode_job_type, self._ask("hvals", JOB_TYPES.bodies)), key=lambda one: one.name)

    def delete_node_types(self, uuids: Iterable[str]) -> int:
        uuids = list(uuids)
        for uuid in uuids:
            # Not one step with the deletion: on a cluster they live apart. A job that slips in between stays in its
            # queue and is found there; its node type can be defined again.
            counts = self.count_jobs(uuid)
            if any(counts[state] for state in (JobState.DELAYED, JobState.QUEUED, JobState.RUNNING)):
                raise Conflict(f"node type {uuid} still has live jobs; cancel them or let them end first")
            self._remember_queue(uuid)  # so that what is left of it is found, and forgotten in time
        return self._delete_definitions(NODE_TYPES, uuids)

    def delete_job_types(self, uuids: Iterable[str]) -> int:
        return self._delete_definitions(JOB_TYPES, list(uuids))

    def _delete_definitions(self, keys: DefinitionKeys, uuids: list[str]) -> int:
        return int(self._run("delete_definitions", [keys.bodies, keys.names, keys.version], uuids))

    def definitions_version(self) -> int:
        self._seen_version = int(self._ask("get", NODE_TYPES.version) or 0)
        return self._seen_version

    def get_setting(self, name: str) -> str | None:
        value = self._ask("hget", SETTINGS, name)
        return value.decode() if value is not None else None

    def put_setting(self, name: str, value: str, *, only_if_absent: bool = False) -> str:
        if only_if_absent:
            self._ask("hsetnx", SETTINGS, name, value)
            kept = self.get_setting(name)
            return value if kept is None else kept
        self._ask("hset", SETTINGS, name, value)
        return value

    def list_settings(self, prefix: str) -> dict[str, str]:
        found = {name.decode(): value.decode() for name, value in self._ask("hgetall", SETTINGS).items()}
        return {name: found[name] for name in sorted(found) if name.startswith(prefix)}

    def delete_setting(self, name: str) -> bool:
        return bool(self._ask("hdel", SETTINGS, name))

    # -- a job's way -----------------------------------------------------------------------------------------------

    def enqueue_jobs(self, specs: Sequence[JobSpec], *, now: int) -> list[Admission]:
        admissions = [Admission(spec.id, True) for spec in specs]
        by_queue: dict[str, list[int]] = {}
        for index, spec in enumerate(specs):
            by_queue.setdefault(spec.queue, []).append(index)
        for queue, indexes in by_queue.items():
            self._remember_queue(queue)
            for start in range(0, len(indexes), _MOST_PER_CALL):
                self._enqueue(queue, specs, indexes[start : start + _MOST_PER_CALL], admissions, now)
        return admissions

    def _enqueue(
        self, queue: str, specs: Sequence[JobSpec], indexes: list[int], admissions: list[Admission], now: int
    ) -> None:
        keys = self._of(queue)
        args = stats_args(now)
        for index in indexes:
            args += new_entry(specs[index], now)
        places = [keys.jobs, keys.ready, keys.delayed, keys.unique, keys.marks, keys.wake]
        answer = self._run("enqueue_jobs", [*places, *stats_keys(keys, now)], args)
        for number, survivor in zip(answer[::2], answer[1::2], strict=True):
            admissions[indexes[number]] = Admission(survivor.decode(), False)

    def _remember_queue(self, queue: str) -> None:
        if queue not in self._known_queues:
            self._ask("sadd", QUEUES, queue)
            self._known_queues.add(queue)

    def claim_jobs(self, queue: str, *, token: str, limit: int, lease_ms: int, now: int) -> Claims:
        keys, args = self._claim_call(queue, token, limit, lease_ms, now)
        return claims(self._run("claim_jobs", keys, args, repeats=False), token)

    def _claim_call(
        self, queue: str, token: str, limit: int, lease_ms: int, now: int
    ) -> tuple[Sequence[str], Sequence[Value]]:
        k = self._of(queue)
        keys = [k.jobs, k.ready, k.delayed, k.held, k.running, k.locks, k.marks, k.leases, k.paused, k.wake]
        most = min(limit, _MOST_PER_CALL)
        return keys, [now, token, node_of_token(token), most, now + lease_ms, MAX_PROMOTED]

    def finish_jobs(self, queue: str, settlements: Sequence[Settlement], *, now: int) -> frozenset[str]:
        return self._finish(queue, settlements, now, only_dead=False)

    def reclaim_jobs(self, queue: str, settlements: Sequence[Settlement], *, now: int) -> frozenset[str]:
        return self._finish(queue, settlements, now, only_dead=True)

    def _finish(self, queue: str, settlements: Sequence[Settlement], now: int, *, only_dead: bool) -> frozenset[str]:
        left_over: list[bytes] = []
        for start in range(0, len(settlements), _MOST_PER_CALL):
            part = settlements[start : start + _MOST_PER_CALL]
            left_over += self._finish_part(queue, part, now, only_dead=only_dead)
        return self._refused(queue, settlements, left_over)

    def _finish_part(self, queue: str, settlements: Sequence[Settlement], now: int, *, only_dead: bool) -> list[bytes]:
        """The ids that were not carried out. If other ends are waited for than this process knows, it looks again."""
        while True:
            answer = self._run("finish_jobs", *self._finish_call(queue, settlements, now, only_dead=only_dead))
            if not isinstance(answer, int):
                return list(answer)
            self._read_awaited(answer)

    def _finish_call(
        self, queue: str, settlements: Sequence[Settlement], now: int, *, only_dead: bool
    ) -> tuple[Sequence[str], Sequence[Value]]:
        k = self._of(queue)
        awaited = self._awaited_ends()
        events = [(one, event) for one in settlements if (event := awaited.event_of(one))] if awaited.names else []
        args: list[Value] = [now, int(only_dead), *stats_args(now), len(events), awaited.version]
        args += [part for one, event in events for part in (one.claim.spec.id, event.time, encode(event))]
        for one in settlements:
            args += settled_entry(one, now)
        ended = [k.ended, k.succeeded, k.failed, k.cancelled]
        waiting = [k.ready, k.delayed, k.held, k.locks, k.unique, k.marks, k.cancelling, k.leases, k.wake]
        return [k.running, *ended, *waiting, *stats_keys(k, now), k.outbox, k.awaited_since], args

    def _refused(self, queue: str, settlements: Sequence[Settlement], left_over: list[bytes]) -> frozenset[str]:
        """Those that were not carried out, now or earlier."""
        if not left_over:
            return frozenset()
        ids = {raw.decode() for raw in left_over}
        doubtful = [one for one in settlements if one.claim.spec.id in ids]
        jobs = self._find_in(queue, [one.claim.spec.id for one in doubtful])
        pairs = zip(doubtful, jobs, strict=True)
        return frozenset(one.claim.spec.id for one, job in pairs if not was_carried_out(one, job))

    def finish_and_claim_jobs(
        self, queue: str, settlements: Sequence[Settlement], *, token: str, limit: int, lease_ms: int, now: int
    ) -> Claims:
        if not settlements:
            return self.claim_jobs(queue, token=token, limit=limit, lease_ms=lease_ms, now=now)
        if self._is_cluster or len(settlements) > _MOST_PER_CALL:
            refused = self.finish_jobs(queue, settlements, now=now)
            answer = self.claim_jobs(queue, token=token, limit=limit, lease_ms=lease_ms, now=now)
            return Claims(answer.claims, answer.next_due, refused)
        finish = ("finish_jobs", *self._finish_call(queue, settlements, now, only_dead=False))
        claim = ("claim_jobs", *self._claim_call(queue, token, limit, lease_ms, now))
        left_over, raw_claims = self._pipeline([finish, claim])
        answer = claims(raw_claims, token)
        if isinstance(left_over, int):
            self._read_awaited(left_over)
            left_over = self._finish_part(queue, settlements, now, only_dead=False)
        return Claims(answer.claims, answer.next_due, self._refused(queue, settlements, left_over))

    def _pipeline(self, calls: Sequence[tuple[str, Sequence[str], Sequence[Value]]]) -> list[Any]:
        """Several scripts in one round trip; one that the server does not know is sent whole afterwards."""
        with translated_errors(self.url):
            pipeline = self._client.pipeline(transaction=False)
            for name, keys, args in calls:
                pipeline.evalsha(SCRIPTS[name].sha, len(keys), *keys, *args)
            answers = pipeline.execute(raise_on_error=False)
            for number, (name, keys, args) in enumerate(calls):
                if isinstance(answers[number], NoScriptError):
                    answers[number] = SCRIPTS[name].call(self._client, keys, args)
                if isinstance(answers[number], ResponseError):
                    raise answers[number]
            return list(answers)

    def renew_claims(self, queue: str, node: str, held: dict[str, str], *, lease_ms: int, now: int) -> Renewal:
        keys = self._of(queue)
        args: list[Value] = [node, now + lease_ms, *(part for pair in held.items() for part in pair)]
        cancelled, lost = self._run("renew_claims", [keys.running, keys.cancelling, keys.leases], args)
        return Renewal([raw.decode() for raw in cancelled], [raw.decode() for raw in lost])

    def recover_claims(self, queue: str, node: str, held: dict[str, str], *, now: int) -> int:
        k = self._of(queue)
        ending = encode(cancelled_before_run(now))
        known = [part for pair in held.items() for part in pair]
        args: list[Value] = [node, now, ending, *stats_args(now), *known]
        keys = [k.running, k.ready, k.held, k.locks, k.marks, k.cancelling, k.wake, k.ended, k.cancelled, k.unique]
        return int(self._run("recover_claims", [*keys, *stats_keys(k, now)], args))

    def drop_lease(self, queue: str, node: str) -> None:
        keys = self._of(queue)
        self._ask("zrem", keys.leases, node)
        self._ask("delete", keys.inbox(node))

    def lost_claims(self, queue: str, *, now: int, limit: int) -> list[Claim]:
        keys = self._of(queue)
        raw = self._run("lost_claims", [keys.running, keys.leases, keys.jobs, keys.marks], [now, limit])
        parts = zip(raw[::4], raw[1::4], raw[2::4], raw[3::4], strict=True)
        return [claim_of(spec, token.decode(), rank, mark) for spec, token, rank, mark in parts]

    def cancel_jobs(self, job_ids: Sequence[str], *, now: int) -> list[CancelAnswer]:
        answers = dict.fromkeys(job_ids, CancelAnswer.UNKNOWN)
        for queue in self.list_queues():
            for job_id, answer in self._cancel_in(
                queue, [i for i in answers if answers[i] is CancelAnswer.UNKNOWN], now
            ):
                answers[job_id] = answer
        return [answers[job_id] for job_id in job_ids]

    def _cancel_in(self, queue: str, job_ids: list[str], now: int) -> Iterable[tuple[str, CancelAnswer]]:
        if not job_ids:
            return
        k = self._of(queue)
        keys = [k.jobs, k.ready, k.delayed, k.held, k.running, k.locks, k.unique, k.marks, k.ended, k.cancelled]
        args = [now, encode(cancelled_before_run(now)), *stats_args(now), *job_ids]
        words = self._run("cancel_jobs", [*keys, k.cancelling, k.wake, *stats_keys(k, now)], args)
        for job_id, word in zip(job_ids, (raw.decode() for raw in words), strict=True):
            if "/" in word:
                self._tell_to_cancel(queue, job_id, word)
                yield job_id, CancelAnswer.REQUESTED
            else:
                yield job_id, CancelAnswer(word)

    def _tell_to_cancel(self, queue: str, job_id: str, token: str) -> None:
        """A short cut: should it be lost, the node hears of the cancellation when it renews its claims."""
        self._push(self._of(queue).inbox(node_of_token(token)), job_id)

    def _push(self, inbox: str, item: str) -> None:
        self._ask("rpush", inbox, item)

    def retry_jobs(self, job_ids: Sequence[str], *, now: int) -> list[bool]:
        found = self._found(job_ids)
        answers = dict.fromkeys(job_ids, False)
        for queue, specs in found.items():
            k = self._of(queue)
            args: list[Value] = [part for spec in specs for part in retried_entry(spec, now)]
            keys = [k.ready, k.failed, k.cancelled, k.ended, k.unique, k.marks, k.wake]
            for spec, done in zip(specs, self._run("retry_jobs", keys, args), strict=True):
                answers[spec.id] = bool(done)
        return [answers[job_id] for job_id in job_ids]

    def _found(self, job_ids: Sequence[str]) -> dict[str, list[JobSpec]]:
        """Specs of those jobs that are known, by queue; each once."""
        found: dict[str, list[JobSpec]] = {}
        for job in self.find_jobs(list(dict.fromkeys(job_ids))):
            if job:
                found.setdefault(job.spec.queue, []).append(job.spec)
        return found

    def delete_jobs(self, job_ids: Sequence[str]) -> list[bool]:
        deleted: set[str] = set()
        for queue, specs in self._found(job_ids).items():
            deleted |= self._delete_in(queue, [spec.id for spec in specs])
        return [job_id in deleted for job_id in job_ids]

    def _delete_in(self, queue: str, job_ids: list[str]) -> set[str]:
        k = self._of(queue)
        keys = [k.jobs, k.ended, k.succeeded, k.failed, k.cancelled, k.marks, *map(k.log, job_ids)]
        answers = self._run("delete_jobs", keys, job_ids)
        return {job_id for job_id, done in zip(job_ids, answers, strict=True) if done}

    # -- queues ----------------------------------------------------------------------------------------------------

    def pause_queue(self, queue: str) -> None:
        self._remember_queue(queue)
        self._ask("set", self._of(queue).paused, "1")

    def resume_queue(self, queue: str) -> None:
        keys = self._of(queue)
        self._ask("delete", keys.paused)
        self._ask("rpush", keys.wake, "1")

    def paused_queues(self) -> frozenset[str]:
        return frozenset(queue for queue in self.list_queues() if self._ask("exists", self._of(queue).paused))

    def count_jobs(self, queue: str) -> dict[JobState, int]:
        k = self._of(queue)
        keys = [k.delayed, k.ready, k.held, k.running, k.succeeded, k.failed, k.cancelled]
        states = list(JobState)
        return dict(zip(states, self._run("count_jobs", keys, []), strict=True))

    def read_stats(self, queue: str, *, since: int, until: int) -> list[Stats]:
        keys = self._of(queue)
        hours = hours_between(since, until, self.now())
        return [one for hour in hours for one in stats_of(self._ask("hgetall", keys.stats(hour)), since, until)]

    def read_totals(self, queue: str) -> Stats:
        return totals_of(self._ask("hgetall", self._of(queue).totals))

    # -- reading ---------------------------------------------------------------------------------------------------

    def find_jobs(self, job_ids: Sequence[str]) -> list[Job | None]:
        found: dict[str, Job] = {}
        for queue in self.list_queues():
            missing = [job_id for job_id in job_ids if job_id not in found]
            if not missing:
                break
            found |= {job.id: job for job in self._find_in(queue, missing) if job}
        return [found.get(job_id) for job_id in job_ids]

    def _find_in(self, queue: str, job_ids: Sequence[str]) -> list[Job | None]:
        k = self._of(queue)
        raw = self._run("find_jobs", [k.jobs, k.ready, k.delayed, k.running, k.ended, k.marks, k.cancelling], job_ids)
        return [job_of(*raw[start : start + 5]) for start in range(0, len(raw), 5)]

    def list_queues(self) -> list[str]:
        queues = {raw.decode() for raw in self._ask("hkeys", NODE_TYPES.bodies)}
        return sorted(queues | {raw.decode() for raw in self._ask("smembers", QUEUES)})

    def forget_queue(self, queue: str) -> bool:
        if self._ask("hexists", NODE_TYPES.bodies, queue):
            return False
        k, now = self._of(queue), self.now()
        live = [k.jobs, k.schedules, k.configurations]
        counted = [k.stats(hour) for hour in hours_between(0, now, now)]
        if not self._run("forget_queue", [*live, *(key for key in k.fixed() if key not in live), *counted], []):
            return False
        self._known_queues.discard(queue)
        for known in (QUEUES, EVENT_QUEUES):
            self._ask("srem", known, queue)
            if self._ask("exists", *live):  # somebody who thought that the queue is known was faster
                self._ask("sadd", known, queue)
        return True

    def list_jobs(self, query: JobQuery, *, limit: int, cursor: str | None = None) -> JobPage:
        return listing.list_jobs(self, query, limit, cursor)

    def read_section(
        self, section: str, queue: str, states: Iterable[JobState], *, after: listing.Place, limit: int
    ) -> list[tuple[listing.Place, Job]]:
        wanted = frozenset(states)
        found: list[tuple[listing.Place, Job]] = []
        while len(found) < limit:
            places = self._places(section, self._of(queue), wanted, after, limit)
            jobs = self._find_in(queue, [job_id for _, job_id in places]) if places else []
            # A job that moved on between the two steps is not of this section any more. Others take its place, because
            # a short answer means that there are no more.
            found += [(place, job) for place, job in zip(places, jobs, strict=True) if job and job.state in wanted]
            if len(places) < limit:
                break
            after = places[-1]
        return found[:limit]

    def _places(
        self, section: str, keys: QueueKeys, states: Iterable[JobState], after: listing.Place, limit: int
    ) -> list[listing.Place]:
        if section == "ended":
            sets = {"succeeded": keys.succeeded, "failed": keys.failed, "cancelled": keys.cancelled}
            places = [place for state in states for place in self._page(sets[state], after, limit, latest_first=True)]
            return sorted(places, reverse=True)[:limit]
        if section == "running":
            holds = self._ask("hgetall", keys.running).items()
            places = [(int(hold.rsplit(b" ", 1)[1]), job_id.decode()) for job_id, hold in holds]
        elif section == "held":
            members = [member.rsplit(b"\0", 2) for member in self._ask("zrange", keys.held, 0, -1)]
            places = [(rank_of_held(rank), job_id.decode()) for _, rank, job_id in members]
        else:
            key = keys.delayed if section == "delayed" else keys.ready
            return self._page(key, after, limit, latest_first=False)
        return sorted(place for place in places if place > after)[:limit]

    def _page(self, key: str, after: listing.Place, limit: int, *, latest_first: bool) -> list[listing.Place]:
        """Members of a sorted set behind a place. Jobs of one millisecond share a score: those up to the place are
        passed."""
        command, edge = ("zrevrangebyscore", "-inf") if latest_first else ("zrangebyscore", "+inf")
        places: list[listing.Place] = []
        offset = 0
        while len(places) < limit:
            raw = self._ask(command, key, after[0], edge, start=offset, num=limit, withscores=True)
            found = [(int(score) if score.is_integer() else score, member.decode()) for member, score in raw]
            places += [place for place in found if (place < after if latest_first else place > after)]
            offset += len(raw)
            if len(raw) < limit:
                break
        return places[:limit]

    def trim_history(self, queue: str, *, ended_before: int, keep: int, limit: int) -> int:
        keys = self._of(queue)
        counts = self.count_jobs(queue)
        surplus = min(sum(counts[state] for state in FINAL_STATES) - keep, limit)
        old = self._oldest(keys, f"({ended_before}", limit)
        if len(old) < surplus:
            old = self._oldest(keys, "+inf", surplus)
        return sum(
            len(self._delete_in(queue, old[start : start + _MOST_PER_CALL]))
            for start in range(0, len(old), _MOST_PER_CALL)
        )

    def _oldest(self, keys: QueueKeys, before: str, limit: int) -> list[str]:
        ended: list[tuple[float, bytes]] = []
        for key in (keys.succeeded, keys.failed, keys.cancelled):
            raw = self._ask("zrangebyscore", key, "-inf", before, start=0, num=limit, withscores=True)
            ended += [(score, member) for member, score in raw]
        return [member.decode() for _, member in sorted(ended)[:limit]]

    # -- logs ------------------------------------------------------------------------------------------------------

    def append_logs(self, batches: Sequence[LogBatch]) -> frozenset[str]:
        by_queue: dict[str, list[LogBatch]] = {}
        for batch in batches:
            by_queue.setdefault(batch.queue, []).append(batch)
        refused: set[str] = set()
        for queue, some in by_queue.items():
            keys = self._of(queue)
            args: list[Value] = []
            for batch in some:
                args += [batch.job_id, batch.token, len(batch.entries), *map(encode, batch.entries)]
            logs = [keys.log(batch.job_id) for batch in some]
            # Not repeated: lines that had arrived would stand there twice.
            refused |= {raw.decode() for raw in self._run("append_logs", [keys.running, *logs], args, repeats=False)}
        return frozenset(refused)

    def read_logs(self, job_id: str, *, after: int = 0, limit: int = 1000) -> LogPage:
        for queue in self.list_queues():
            raw = self._ask("lrange", self._of(queue).log(job_id), after, after + limit - 1)
            if raw:
                return LogPage([decode_log_entry(entry) for entry in raw], after + len(raw))
        return LogPage([], after)

    # -- nodes -----------------------------------------------------------------------------------------------------

    def beat(self, node: Node) -> None:
        self._run("beat", [NODES, PINGS], [node.uuid, node.last_ping, encode(node)])

    def list_nodes(self, *, since: int) -> list[Node]:
        uuids = sorted(self._ask("zrangebyscore", PINGS, since, "+inf"))
        bodies = self._ask("hmget", NODES, uuids) if uuids else []
        return [decode_node(body) for body in bodies if body]

    def remove_nodes(self, *, uuid: str | None = None, silent_since: int | None = None) -> int:
        removed = int(self._run("remove_nodes", [NODES, PINGS], [uuid, ""])) if uuid else 0
        if silent_since is not None:
            removed += int(self._run("remove_nodes", [NODES, PINGS], ["", silent_since]))
        return removed

    # -- waiting ---------------------------------------------------------------------------------------------------

    def waker(self, queue: str, node: str) -> RedisWaker:
        return RedisWaker(self._address, queue, node, push=self._push)
