"""The Redis store. Each operation is one Lua script of its name; `keys.py` spells the keys.

Answers of Redis come as bytes; ids and tokens are ASCII. A job is looked up by its id alone as `lookup.py` says.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any, Self

from redis.cluster import RedisCluster
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import NoScriptError, ResponseError

from rota.clock import SystemClock
from rota.errors import Conflict, InvalidInput, StoreFull, StoreUnavailable
from rota.model.job import FINAL_STATES, Claim, Job, JobSpec, JobState, node_of_token, serial_of_token
from rota.model.job_type import JobType
from rota.model.log import LogEntry
from rota.model.node import Node, NodeType
from rota.model.settlement import Settlement, cancelled_before_run, was_carried_out
from rota.store.claims import MAX_PROMOTED, MAX_SCANNED, Claims
from rota.store.jobs import Admission, CancelAnswer, JobPage, JobQuery
from rota.store.logs import LogBatch, LogPage
from rota.store.queues import Stats
from rota.store.records import listing
from rota.store.records.codec import (
    decode_job_type,
    decode_log_entry,
    decode_node,
    decode_node_type,
    encode,
    encode_over,
)
from rota.store.records.unreadable import (
    UNREADABLE_ERRORS,
    Unreadable,
    UnreadableRecords,
    unreadable_job_type,
    unreadable_line,
    unreadable_node,
    unreadable_node_type,
    unreadable_spec,
)
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
from rota.store.redis.lifeline import RedisLifeline
from rota.store.redis.lookup import Lookup
from rota.store.redis.marks import claim_of, job_of, rank_of_held, whole_rank
from rota.store.redis.schedules import RedisSchedules
from rota.store.redis.scripts import MOST_PER_CALL, SCRIPTS, ScriptCall, Value, parts_of
from rota.store.redis.stats import hours_between, stats_args, stats_keys, stats_of, totals_of
from rota.store.redis.troubles import Troubles
from rota.store.redis.waker import RedisWaker

_REPLICA_PATIENCE_MS = 1_000
_MOST_DELETED = 500
"""Jobs that one step forgets: their logs are many small values."""
_SAMPLED = 50
_BYTES_OF_PLACES = 300
"""What an ended job takes in hashes and lists beside its values."""
_MOST_ENQUEUED = 100_000
"""Jobs of one queue in one call. They are one step, and a command has a million arguments at most."""


class RedisStore(RedisSchedules, RedisEvents):
    """See `rota.store.store.Store` for what each method promises."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._known_queues: set[str] = set()
        self._keys: dict[str, QueueKeys] = {}
        self._unreadable = UnreadableRecords()
        with translated_errors(address.shown):
            self._client = address.connect()
            self._problems = check_server(self._client, address.shown)
        self._is_cluster = isinstance(self._client, RedisCluster)
        self._troubles = Troubles(self._client, SystemClock().monotonic, self.now)
        self._lookup = Lookup(self._run_each, self.list_queues, queues_per_call=1 if self._is_cluster else 100)

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
        with translated_errors(self.url):
            return self._problems + self._troubles.past()

    def troubles(self) -> list[str]:
        with translated_errors(self.url):
            try:
                return self._troubles.look()
            except RedisConnectionError:
                return self._troubles.look()

    def unreadable_records(self) -> list[Unreadable]:
        return self._unreadable.all()

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

    def _ask_together(self, *commands: Sequence[Any]) -> list[Any]:
        """Several plain commands in one round trip."""
        with translated_errors(self.url):
            try:
                return self._send_together(commands)
            except RedisConnectionError:
                return self._send_together(commands)

    def _send_together(self, commands: Sequence[Sequence[Any]]) -> list[Any]:
        pipeline = self._client.pipeline(transaction=False)
        for name, *args in commands:
            getattr(pipeline, name)(*args)
        return list(pipeline.execute())

    def _run_each(self, calls: list[ScriptCall]) -> list[Any]:
        """Several scripts that may be repeated; in one round trip, but on a cluster one after the other."""
        if self._is_cluster or len(calls) < 2:
            return [self._run(*call) for call in calls]
        with translated_errors(self.url):
            try:
                return self._send_scripts(calls)
            except RedisConnectionError:
                return self._send_scripts(calls)

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
        args: list[Value] = []
        for one in definitions:
            args += [one.uuid, one.name, encode_over(one, self._ask("hget", keys.bodies, one.uuid))]
        taken = self._run("put_definitions", [keys.bodies, keys.names, keys.version], args)
        if taken:
            raise Conflict(f"another {kind} has the name {taken.decode()!r}")

    def list_node_types(self) -> list[NodeType]:
        found = self._ask("hgetall", NODE_TYPES.bodies).items()
        return sorted((self._node_type(uuid.decode(), body) for uuid, body in found), key=lambda one: one.name)

    def _node_type(self, uuid: str, body: bytes) -> NodeType:
        try:
            return decode_node_type(body)
        except UNREADABLE_ERRORS as error:
            name = self._name_of(NODE_TYPES, uuid)
            self._unreadable.note("node type", name, error)
            return unreadable_node_type(uuid, name)

    def list_job_types(self) -> list[JobType]:
        found = self._ask("hgetall", JOB_TYPES.bodies).items()
        return sorted((self._job_type(uuid.decode(), body) for uuid, body in found), key=lambda one: one.name)

    def _job_type(self, uuid: str, body: bytes) -> JobType:
        try:
            return decode_job_type(body)
        except UNREADABLE_ERRORS as error:
            name = self._name_of(JOB_TYPES, uuid)
            return unreadable_job_type(uuid, name, self._unreadable.note("job type", name, error))

    def _name_of(self, keys: DefinitionKeys, uuid: str) -> str:
        """The name of a definition whose record cannot be read."""
        found = self._ask("hgetall", keys.names).items()
        return next((name.decode() for name, owner in found if owner.decode() == uuid), uuid)

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
            # What is there is read first: a server that refuses to write must not keep a node from starting.
            kept = self.get_setting(name)
            if kept is None:
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
        by_queue = self._by_queue(specs, admissions)
        for done, (queue, indexes) in enumerate(by_queue.items()):
            try:
                self._remember_queue(queue)
                self._enqueue(queue, [specs[index] for index in indexes], indexes, admissions, now)
            except StoreFull as error:
                if not done:
                    raise
                raise StoreFull(
                    f"{self.url} is full: the jobs for {done} of {len(by_queue)} queues were accepted, the others were "
                    "not; give the server room and try again with the same ids"
                ) from error
        return admissions

    def _by_queue(self, specs: Sequence[JobSpec], admissions: list[Admission]) -> dict[str, list[int]]:
        """The numbers of new jobs by queue; those whose id another queue has are not new."""
        elsewhere = self._lookup.held_elsewhere(specs)
        by_queue: dict[str, list[int]] = {}
        for index, spec in enumerate(specs):
            if elsewhere and elsewhere.get(spec.id, spec.queue) != spec.queue:
                admissions[index] = Admission(spec.id, False)
            else:
                by_queue.setdefault(spec.queue, []).append(index)
        for queue, indexes in by_queue.items():
            if len(indexes) > _MOST_ENQUEUED:
                raise InvalidInput("jobs", f"{len(indexes)} jobs for {queue} at once; {_MOST_ENQUEUED} is the most")
        return by_queue

    def _enqueue(
        self, queue: str, specs: list[JobSpec], indexes: list[int], admissions: list[Admission], now: int
    ) -> None:
        """One step for all of them, whatever their number: a server that is full takes all or none."""
        k = self._of(queue)
        args = stats_args(now)
        for spec in specs:
            args += new_entry(spec, now)
        keys = [k.jobs, k.ready, k.delayed, k.unique, k.marks, k.wake, *stats_keys(k, now)]
        with translated_errors(self.url):
            try:
                answer = SCRIPTS["enqueue_jobs"].call(self._client, keys, args)
                own: set[int] = set()
            except RedisConnectionError:
                answer = SCRIPTS["enqueue_jobs"].call(self._client, keys, args)
                own = self._accepted_before(k, specs, answer)
            if self._address.wait_replicas:
                self._await_replicas(k)
        for number, survivor in zip(answer[::2], answer[1::2], strict=True):
            if number not in own:
                admissions[indexes[number]] = Admission(survivor.decode(), False)

    def _await_replicas(self, keys: QueueKeys) -> None:
        """Wait until replicas have everything that the queue's server was given so far: a write on a connection, and
        there the wait for it. It costs one round trip, and the time that the replicas take."""
        wanted = self._address.wait_replicas
        client = self._client.get_node_from_key(keys.synced).redis_connection if self._is_cluster else self._client
        pipeline = client.pipeline(transaction=False)
        pipeline.incr(keys.synced)
        pipeline.execute_command("WAIT", wanted, _REPLICA_PATIENCE_MS)
        confirmed = pipeline.execute()[1]
        if confirmed < wanted:
            raise StoreUnavailable(
                f"{self.url}: written, but {confirmed} of {wanted} replicas confirmed it within {_REPLICA_PATIENCE_MS} "
                "ms, so that a fail-over may lose it; repeating with the same ids is harmless"
            )

    def _accepted_before(self, keys: QueueKeys, specs: list[JobSpec], answer: list[Any]) -> set[int]:
        """Jobs that a repeated call found to be known, because it had accepted them itself when its answer was lost:
        what is kept is exactly what was handed in, the instant included."""
        first = {specs[number].id: number for number in reversed(answer[::2])}
        if not first:
            return set()
        kept = self._client.hmget(keys.jobs, list(first))
        return {number for number, body in zip(first.values(), kept, strict=True) if body == encode(specs[number])}

    def _remember_queue(self, queue: str) -> None:
        if queue not in self._known_queues:
            self._ask("sadd", QUEUES, queue)
            self._known_queues.add(queue)

    def claim_jobs(self, queue: str, *, token: str, limit: int, now: int) -> Claims:
        keys, args = self._claim_call(queue, token, limit, now)
        return self._claims(queue, self._run("claim_jobs", keys, args, repeats=False), token)

    def _claims(self, queue: str, raw: list[bytes], token: str) -> Claims:
        try:
            return claims(raw, token)
        except UNREADABLE_ERRORS:
            return Claims(self._claims_one_by_one(queue, raw, token), claims(raw[:1], token).next_due)

    def _claims_one_by_one(self, queue: str, raw: list[bytes], token: str) -> list[Claim]:
        """The claims of one call, also those of jobs whose records cannot be read. Reads every running job of the
        queue, which is why it is asked only when there is such a one."""
        found: dict[str, Claim] = {}
        for spec, rank, mark, fence in zip(raw[1::4], raw[2::4], raw[3::4], raw[4::4], strict=True):
            with suppress(*UNREADABLE_ERRORS):
                claim = claim_of(spec, token, rank, mark, fence)
                found[claim.spec.id] = claim
        for job_id, (its_token, rank) in self._holds_of(queue, node_of_token(token)).items():
            if its_token == token and job_id not in found:
                found[job_id] = self._stand_in(queue, job_id, token, rank)
        return sorted(found.values(), key=lambda claim: (claim.rank, claim.spec.id))

    def _stand_in(self, queue: str, job_id: str, token: str, rank: bytes) -> Claim:
        """The claim of a job whose record cannot be read."""
        (job,) = self._find_in(queue, [job_id])
        if job is None:
            return Claim(unreadable_spec(job_id, queue, "its record is gone"), token, whole_rank(rank), 0, 0)
        return Claim(job.spec, token, whole_rank(rank), job.attempts - 1, job.deaths)

    def _claim_call(self, queue: str, token: str, limit: int, now: int) -> tuple[Sequence[str], Sequence[Value]]:
        k = self._of(queue)
        keys = [k.jobs, k.ready, k.delayed, k.held, k.running, k.locks, k.marks, k.pulses, k.paused, k.wake]
        most = min(limit, MOST_PER_CALL)
        node, serial = node_of_token(token), serial_of_token(token)
        return [*keys, k.floors, k.fence], [now, token, node, serial, most, MAX_PROMOTED, MAX_SCANNED]

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
        """The ids that were not carried out. If other ends are waited for than this process knows, it looks again."""
        while True:
            answer = self._run("finish_jobs", *self._finish_call(queue, settlements, now, node=node, pulse=pulse))
            if not isinstance(answer, int):
                return list(answer)
            self._read_awaited(answer)

    def _finish_call(
        self, queue: str, settlements: Sequence[Settlement], now: int, *, node: str = "", pulse: str = ""
    ) -> tuple[Sequence[str], Sequence[Value]]:
        k = self._of(queue)
        awaited = self._awaited_ends()
        events = [(one, event) for one in settlements if (event := awaited.event_of(one))] if awaited.names else []
        args: list[Value] = [now, node, pulse, *stats_args(now), len(events), awaited.version]
        args += [part for one, event in events for part in (one.claim.spec.id, event.time, encode(event))]
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
        jobs = self._find_in(queue, [one.claim.spec.id for one in doubtful])
        pairs = zip(doubtful, jobs, strict=True)
        return frozenset(one.claim.spec.id for one, job in pairs if not was_carried_out(one, job))

    def finish_and_claim_jobs(
        self, queue: str, settlements: Sequence[Settlement], *, token: str, limit: int, now: int
    ) -> Claims:
        if not settlements:
            return self.claim_jobs(queue, token=token, limit=limit, now=now)
        if self._is_cluster or len(settlements) > MOST_PER_CALL:
            refused = self.finish_jobs(queue, settlements, now=now)
            answer = self.claim_jobs(queue, token=token, limit=limit, now=now)
            return Claims(answer.claims, answer.next_due, refused)
        finish = ("finish_jobs", *self._finish_call(queue, settlements, now))
        claim = ("claim_jobs", *self._claim_call(queue, token, limit, now))
        left_over, raw_claims = self._pipeline([finish, claim])
        answer = self._claims(queue, raw_claims, token)
        if isinstance(left_over, int):
            self._read_awaited(left_over)
            left_over = self._finish_part(queue, settlements, now)
        return Claims(answer.claims, answer.next_due, self._refused(queue, settlements, left_over))

    def _pipeline(self, calls: Sequence[ScriptCall]) -> list[Any]:
        """Several scripts in one round trip, none of which is repeated."""
        with translated_errors(self.url):
            return self._send_scripts(calls)

    def _send_scripts(self, calls: Sequence[ScriptCall]) -> list[Any]:
        """In one round trip; a script that the server does not know is sent whole afterwards."""
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

    def lifeline(self, *, timeout_s: float) -> RedisLifeline:
        return RedisLifeline(self._address, timeout_s)

    def recover_claims(self, queue: str, node: str, held: dict[str, str], *, floor: int, now: int) -> int:
        # The floor comes first: what is claimed under it was claimed before, and the scan meets it.
        self._run("raise_floor", [self._of(queue).floors], [node, floor])
        found = self._holds_of(queue, node)
        return self._put_back(queue, [(id, token) for id, (token, _) in found.items() if held.get(id) != token], now)

    def _put_back(self, queue: str, claims: Sequence[tuple[str, str]], now: int) -> int:
        k = self._of(queue)
        keys = [k.running, k.ready, k.held, k.locks, k.marks, k.cancelling, k.wake, k.ended, k.cancelled, k.unique]
        recovered = 0
        for some in parts_of(claims):
            args: list[Value] = [now, encode(cancelled_before_run(now)), *stats_args(now)]
            args += [part for claim in some for part in claim]
            recovered += int(self._run("recover_claims", [*keys, *stats_keys(k, now)], args))
        return recovered

    def leave_queue(self, queue: str, node: str, *, floor: int, now: int) -> None:
        self.recover_claims(queue, node, {}, floor=floor, now=now)
        keys = self._of(queue)
        self._run("forget_pulse", [keys.pulses, keys.floors, keys.inbox(node)], [node])

    def read_pulses(self, queue: str) -> dict[str, str]:
        raw = self._ask("hgetall", self._of(queue).pulses)
        return {node.decode(): pulse.decode() for node, pulse in raw.items()}

    def claims_of_node(self, queue: str, node: str, *, limit: int) -> list[Claim]:
        holds = list(self._holds_of(queue, node, limit).items())
        keys = self._of(queue)
        claims: list[Claim] = []
        for some in parts_of(holds):
            raw = self._run("read_claims", [keys.jobs, keys.marks], [job_id for job_id, _ in some])
            for (job_id, (token, rank)), spec, mark in zip(some, raw[::2], raw[1::2], strict=True):
                try:
                    claims.append(claim_of(spec, token, rank, mark))
                except UNREADABLE_ERRORS:
                    claims.append(self._stand_in(queue, job_id, token, rank))
        return claims

    def _holds_of(self, queue: str, node: str, limit: int | None = None) -> dict[str, tuple[str, bytes]]:
        """Token and rank of each job that the node holds. Read in pieces, so that nobody waits long for the server."""
        prefix = f"{node}/".encode()
        found: dict[str, tuple[str, bytes]] = {}
        for job_id, hold in self._holds(queue):
            if hold.startswith(prefix):
                token, rank, _ = hold.rsplit(b" ", 2)
                found[job_id.decode()] = (token.decode(), rank)
                if limit is not None and len(found) >= limit:
                    break
        return found

    def _holds(self, queue: str) -> Iterator[tuple[bytes, bytes]]:
        cursor = 0
        while True:
            cursor, some = self._ask("hscan", self._of(queue).running, cursor, count=MOST_PER_CALL)
            yield from some.items()
            if not cursor:
                return

    def forget_pulse(self, queue: str, node: str, *, pulse: str) -> None:
        keys = self._of(queue)
        self._run("forget_pulse", [keys.pulses, keys.floors, keys.inbox(node)], [node, pulse])

    def mark_orphans(self, queue: str) -> int:
        holders = {node_of_token(hold.decode()) for _, hold in self._holds(queue)}
        unknown = sorted(holders - self.read_pulses(queue).keys())
        return sum(int(self._ask("hsetnx", self._of(queue).pulses, node, "")) for node in unknown)

    def cancel_jobs(self, job_ids: Sequence[str], *, now: int) -> list[CancelAnswer]:
        answers = dict.fromkeys(job_ids, CancelAnswer.UNKNOWN)
        for queue, known in self._lookup.by_queue(job_ids).items():
            for part in parts_of(known):
                answers.update(self._cancel_in(queue, part, now))
        return [answers[job_id] for job_id in job_ids]

    def _cancel_in(self, queue: str, job_ids: Sequence[str], now: int) -> Iterable[tuple[str, CancelAnswer]]:
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
        self._run("tell_node", [inbox], [item])

    def retry_jobs(self, job_ids: Sequence[str], *, now: int) -> list[bool]:
        found = self._found(job_ids)
        answers = dict.fromkeys(job_ids, False)
        for queue, specs in found.items():
            k = self._of(queue)
            keys = [k.ready, k.failed, k.cancelled, k.ended, k.unique, k.marks, k.wake]
            for part in parts_of(specs):
                args: list[Value] = [word for spec in part for word in retried_entry(spec, now)]
                for spec, done in zip(part, self._run("retry_jobs", keys, args), strict=True):
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
            for part in parts_of([spec.id for spec in specs], _MOST_DELETED):
                deleted |= self._delete_in(queue, part)
        return [job_id in deleted for job_id in job_ids]

    def _delete_in(self, queue: str, job_ids: Sequence[str]) -> set[str]:
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
        self._push(keys.wake, "1")

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
        for queue, known in self._lookup.by_queue(job_ids).items():
            found |= {job.id: job for job in self._find_in(queue, known) if job}
        return [found.get(job_id) for job_id in job_ids]

    def _find_in(self, queue: str, job_ids: Sequence[str]) -> list[Job | None]:
        k = self._of(queue)
        keys = [k.jobs, k.ready, k.delayed, k.running, k.ended, k.marks, k.cancelling]
        parts = self._run_each([("find_jobs", keys, part) for part in parts_of(job_ids)])
        raw = [field for part in parts for field in part]
        return [job_of(queue, job_id, *raw[n * 5 : n * 5 + 5]) for n, job_id in enumerate(job_ids)]

    def list_queues(self) -> list[str]:
        defined, used = self._ask_together(("hkeys", NODE_TYPES.bodies), ("smembers", QUEUES))
        return sorted({raw.decode() for raw in [*defined, *used]})

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
            members = [member.rsplit(b"\0", 2) for member in self._held(keys)]
            places = [(rank_of_held(rank), job_id.decode()) for _, rank, job_id in members]
        else:
            key = keys.delayed if section == "delayed" else keys.ready
            return self._page(key, after, limit, latest_first=False)
        return sorted(place for place in places if place > after)[:limit]

    def _held(self, keys: QueueKeys) -> Iterator[bytes]:
        """All jobs that wait for a lock, read in short steps."""
        last: str | bytes = "-"
        while part := self._ask("zrangebylex", keys.held, last, "+", start=0, num=MOST_PER_CALL):
            yield from part
            last = b"(" + part[-1]

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
        if most_bytes := self._address.history_max_bytes:
            keep = min(keep, most_bytes // self._mean_bytes(keys))
        surplus = min(sum(counts[state] for state in FINAL_STATES) - keep, limit)
        old = self._oldest(keys, f"({ended_before}", limit)
        if len(old) < surplus:
            old = self._oldest(keys, "+inf", surplus)
        return sum(len(self._delete_in(queue, part)) for part in parts_of(old, _MOST_DELETED))

    def _mean_bytes(self, keys: QueueKeys) -> int:
        """What an ended job takes, from a sample: counting would cost every job and every log line."""
        ids = [
            raw.decode()
            for key in (keys.succeeded, keys.failed, keys.cancelled)
            for raw in self._ask("zrandmember", key, _SAMPLED)
        ]
        sizes = self._run("sizes_of_jobs", [keys.jobs, keys.ended, *map(keys.log, ids)], ids) if ids else []
        return _BYTES_OF_PLACES + sum(map(int, sizes)) // max(len(sizes), 1)

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
        for queue in self._lookup.by_queue([job_id]):
            raw = self._ask("lrange", self._of(queue).log(job_id), after, after + limit - 1)
            return LogPage([_log_entry(entry) for entry in raw], after + len(raw))
        return LogPage([], after)

    # -- nodes -----------------------------------------------------------------------------------------------------

    def list_nodes(self, *, since: int) -> list[Node]:
        pings = sorted(self._ask("zrangebyscore", PINGS, since, "+inf", withscores=True))
        bodies = self._ask("hmget", NODES, [uuid for uuid, _ in pings]) if pings else []
        pairs = zip(pings, bodies, strict=True)
        return [
            self._node(uuid.decode(), int(last_ping), body) for (uuid, last_ping), body in pairs if body is not None
        ]

    def _node(self, uuid: str, last_ping: int, body: bytes) -> Node:
        found = self._unreadable.read("node", uuid, lambda: decode_node(body))
        return found or unreadable_node(uuid, last_ping)

    def remove_nodes(self, *, uuid: str | None = None, silent_since: int | None = None) -> int:
        removed = int(self._run("remove_nodes", [NODES, PINGS], [uuid, ""])) if uuid else 0
        if silent_since is not None:
            removed += int(self._run("remove_nodes", [NODES, PINGS], ["", silent_since]))
        return removed

    # -- waiting ---------------------------------------------------------------------------------------------------

    def waker(self, queue: str, node: str) -> RedisWaker:
        return RedisWaker(self._address, queue, node, push=self._push)


def _log_entry(entry: bytes) -> LogEntry:
    try:
        return decode_log_entry(entry)
    except UNREADABLE_ERRORS as error:
        return unreadable_line(error)
