"""The node types and job types of the Redis store."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from rota.errors import Conflict
from rota.model.job import JobState
from rota.model.job_type import JobType
from rota.model.node import NodeType
from rota.store.records.codec import decode_job_type, decode_node_type, encode_over
from rota.store.records.unreadable import UNREADABLE_ERRORS, unreadable_job_type, unreadable_node_type
from rota.store.records.versions import encode_next_version, refuse_other_version
from rota.store.redis.keys import JOB_RULES_VERSION, JOB_TYPES, NODE_TYPES, PENDING_NAMES, DefinitionKeys
from rota.store.redis.link.commands import Value
from rota.store.redis.nouns.events.listening import RedisListening

Definition = TypeVar("Definition", NodeType, JobType)
_PENDING_NAMES = [JOB_RULES_VERSION, PENDING_NAMES]
_TRIES = 100
"""Whoever finds that another was faster begins again, upon the newer record."""


class RedisDefinitions(RedisListening):
    """See `rota.store.contract.definitions.DefinitionStore` for what each method promises."""

    _seen_version = 0
    """Of the definitions, as this process saw it last."""

    def put_node_types(self, node_types: Sequence[NodeType]) -> None:
        self._put_definitions(NODE_TYPES, "node type", node_types, encode_over)

    def put_job_types(
        self, job_types: Sequence[JobType], *, same_version: bool = False, rules_version: int | None = None
    ) -> bool:
        def encode(one: JobType, old: bytes | None) -> bytes:
            if same_version:
                refuse_other_version(one, old)
            return encode_next_version(one, old)

        with self._announced(job_types, rules_version) as may_be_put:
            if may_be_put:
                self._put_definitions(JOB_TYPES, "job type", job_types, encode)
        if may_be_put and self.listening_configurations():
            self._change_awaited()  # they wait for names, and one may belong to another job type now
        return may_be_put

    @contextmanager
    def _announced(self, job_types: Sequence[JobType], rules_version: int | None) -> Iterator[bool]:
        """Have others reckon with names while they are given, because on a cluster no step reaches job types and job
        rules. False if the rules are of another version. After an error of the store nobody knows whether the names
        were given; others reckon with them for a while then."""
        if rules_version is None:
            yield True
            return
        names = [f"{one.uuid} {one.name}" for one in job_types]
        # A repeated call may find the version that it wrote itself; then it is refused, and the caller looks again.
        if not self._link.run("announce_names", _PENDING_NAMES, [rules_version, *names]):
            yield False
            return
        try:
            yield True
        except Conflict:
            self._link.run("settle_job_rules", _PENDING_NAMES, names)
            raise
        self._link.run("settle_job_rules", _PENDING_NAMES, names)

    def _put_definitions(
        self,
        keys: DefinitionKeys,
        kind: str,
        definitions: Sequence[Definition],
        encode: Callable[[Definition, bytes | None], bytes],
    ) -> None:
        """`encode` says how one is written in the place of the record that is there."""
        if not definitions:
            return
        for _ in range(_TRIES):
            there = self._redis.hmget(keys.bodies, [one.uuid for one in definitions])
            args: list[Value] = []
            for one, old in zip(definitions, there, strict=True):
                args += [one.uuid, one.name, encode(one, old), old or b""]
            refused = self._link.run("put_definitions", [keys.bodies, keys.names, keys.version], args)
            if not refused:
                return
            if taken := refused[0]:
                raise Conflict(f"another {kind} has the name {taken.decode()!r}")
        raise Conflict(f"{kind} {definitions[0].name!r} changes too often; try again")

    def list_node_types(self) -> list[NodeType]:
        found = self._redis.hgetall(NODE_TYPES.bodies).items()
        return sorted((self._node_type(uuid.decode(), body) for uuid, body in found), key=lambda one: one.name)

    def _node_type(self, uuid: str, body: bytes) -> NodeType:
        try:
            return decode_node_type(body)
        except UNREADABLE_ERRORS as error:
            name = self._name_of(NODE_TYPES, uuid)
            self._unreadable.note("node type", name, error)
            return unreadable_node_type(uuid, name)

    def list_job_types(self) -> list[JobType]:
        found = self._redis.hgetall(JOB_TYPES.bodies).items()
        return sorted((self._job_type(uuid.decode(), body) for uuid, body in found), key=lambda one: one.name)

    def _job_type(self, uuid: str, body: bytes) -> JobType:
        try:
            return decode_job_type(body)
        except UNREADABLE_ERRORS as error:
            name = self._name_of(JOB_TYPES, uuid)
            return unreadable_job_type(uuid, name, self._unreadable.note("job type", name, error))

    def _name_of(self, keys: DefinitionKeys, uuid: str) -> str:
        """The name of a definition whose record cannot be read."""
        found = self._redis.hgetall(keys.names).items()
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
        return int(self._link.run("delete_definitions", [keys.bodies, keys.names, keys.version], uuids))

    def definitions_version(self) -> int:
        self._seen_version = int(self._redis.get(NODE_TYPES.version) or 0)
        return self._seen_version
