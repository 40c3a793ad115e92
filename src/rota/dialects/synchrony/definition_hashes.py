"""Definitions as Synchrony's hashes show them, and how a change there becomes one here.

What somebody defines there belongs to Synchrony's keys (`managed_by`) and goes when it is removed there. What came by
another way may be changed there too, but is not removed from there; what a configuration file owns is not even changed.
"""

from collections.abc import Callable, Iterable, Mapping

from msgspec import structs

from rota.dialects.synchrony import keys
from rota.dialects.synchrony.agreement import NotTheirs
from rota.dialects.synchrony.shapes import (
    JobTypeRecord,
    NodeTypeRecord,
    ScheduleRecord,
    is_unique,
    job_type_text,
    node_type_text,
    plain_name,
    read_record,
    schedule_text,
)
from rota.engine.definitions.definitions import DEFAULT_NODE_TYPE, Definitions
from rota.engine.definitions.ownership import is_declared
from rota.engine.schedules.schedules import Schedules
from rota.errors import InvalidInput, NotFound
from rota.model.ids import check_id
from rota.model.job_type import JobType, Unique
from rota.model.node import NodeType
from rota.model.schedules.request import ScheduleRequest
from rota.model.schedules.schedule import Schedule
from rota.store.contract.schedules import ScheduleEntry
from rota.store.records.unreadable import UNREADABLE

OWNER = "synchrony"


class NodeTypes:
    """The hash `node_types`. A name that Rota knows by another uuid keeps that; theirs stays as they wrote it."""

    key = keys.NODE_TYPES

    def __init__(self, definitions: Definitions) -> None:
        self._definitions = definitions

    def ours(self, theirs: Mapping[str, bytes]) -> dict[str, bytes]:
        known_as = {record.name: (field, record.uuid) for field, record in readable_node_types(theirs)}
        texts = {}
        for one in self._definitions.node_types():
            field, uuid = known_as.get(one.name, (one.name, one.uuid))
            texts[field] = node_type_text(one, uuid)
            if one.managed_by == UNREADABLE and field in theirs:
                texts[field] = theirs[field]  # nobody changed it
        return texts

    def take(self, field: str, text: bytes) -> None:
        record = read_record(text, NodeTypeRecord)
        if field not in (record.name, record.uuid):
            raise InvalidInput("name", f"neither {record.name!r} nor its uuid is the field under which it stands")
        uuid = check_id("uuid", record.uuid)
        there = self._definitions.known_node_type(uuid) or self._definitions.known_node_type(record.name)
        if there is None:
            made = NodeType(uuid=uuid, name=record.name, thread_count=record.thread_count, managed_by=OWNER)
        else:
            made = structs.replace(there, name=record.name, thread_count=record.thread_count)
        if made != there:
            _refuse_if_of_file(there)
            self._definitions.define_node_type(made)

    def remove(self, field: str) -> None:
        there = self._definitions.known_node_type(field)
        if there is None:
            return
        _refuse_if_not_ours(there)
        self._definitions.disown_node_type(there)
        if there.name == DEFAULT_NODE_TYPE:
            raise NotTheirs("every installation has the node type 'default'")


def readable_node_types(theirs: Mapping[str, bytes]) -> Iterable[tuple[str, NodeTypeRecord]]:
    """Those records of the hash that can be read, with their fields."""
    for field, text in theirs.items():
        try:
            yield field, read_record(text, NodeTypeRecord)
        except InvalidInput:
            continue


class JobTypes:
    """The hash `job_types`. Names there are for people and need not be unique; here they are made so."""

    key = keys.JOB_TYPES

    def __init__(self, definitions: Definitions) -> None:
        self._definitions = definitions

    def ours(self, theirs: Mapping[str, bytes]) -> dict[str, bytes]:
        found = self._definitions.job_types()
        unreadable = {
            one.uuid: theirs[one.uuid] for one in found if one.managed_by == UNREADABLE and one.uuid in theirs
        }
        return {one.uuid: job_type_text(one) for one in found if one.managed_by != UNREADABLE} | unreadable

    def take(self, field: str, text: bytes) -> None:
        record = read_record(text, JobTypeRecord)
        uuid = _same_uuid(field, record.uuid)
        there = self._definitions.known_job_type(uuid)
        made = self._made(record, there or JobType(uuid=uuid, name="", executor="", managed_by=OWNER))
        if made == there:
            return
        _refuse_if_of_file(there)
        self._definitions.define_job_type(made)

    def _made(self, record: JobTypeRecord, base: JobType) -> JobType:
        """The record's fields upon what is there: rules that Synchrony has no words for stay."""
        unique = Unique.WHILE_RUNNING if record.unique else Unique.NONE
        return structs.replace(
            base,
            name=self._free_name(record, base),
            executor=record.executor,
            metadata=record.metadata,
            unique=base.unique if is_unique(base.unique) == record.unique else unique,
            node_type=record.node_type,
            timeout_ms=record.timeout,
        )

    def _free_name(self, record: JobTypeRecord, base: JobType) -> str:
        name = plain_name(record.name)
        owner = self._definitions.known_job_type(name)
        return name if owner is None or owner.uuid == base.uuid else f"{name}-{base.uuid}"[-128:]

    def remove(self, field: str) -> None:
        there = self._definitions.known_job_type(field)
        if there is not None:
            _refuse_if_not_ours(there)
            self._definitions.delete_job_type(there.uuid)


class ScheduleItems:
    """The hash `schedule_items`. It shows intervals since the last scheduling; Synchrony has no words for others."""

    key = keys.SCHEDULE_ITEMS

    def __init__(
        self,
        schedules: Schedules,
        entries: Callable[[], Iterable[ScheduleEntry]],
        unreadable: Callable[[], Iterable[str]] = tuple,
    ) -> None:
        """`unreadable` has the uuids of schedules that are there, but cannot be read."""
        self._schedules = schedules
        self._entries = entries
        self._unreadable = unreadable

    def ours(self, theirs: Mapping[str, bytes]) -> dict[str, bytes]:
        texts = {entry.schedule.uuid: schedule_text(entry.schedule, entry.state) for entry in self._entries()}
        unchanged = {uuid: theirs[uuid] for uuid in self._unreadable() if uuid in theirs}
        return {uuid: text for uuid, text in texts.items() if text is not None} | unchanged

    def take(self, field: str, text: bytes) -> None:
        record = read_record(text, ScheduleRecord)
        uuid = _same_uuid(field, record.uuid)
        there = self._found(uuid)
        if there is None:
            request = ScheduleRequest(
                job_type=check_id("job_type_uuid", record.job_type_uuid),
                interval=record.interval,
                job_arguments=record.job_arguments,
            ).as_in_synchrony()
            last = record.last_scheduled_at
            self._schedules.define(uuid, request, managed_by=OWNER, last_scheduled_at=last)
            return
        _refuse_if_of_file(there.schedule)
        self._schedules.retarget(
            uuid, every_ms=record.interval, job_type=record.job_type_uuid, arguments=record.job_arguments
        )

    def remove(self, field: str) -> None:
        there = self._found(field)
        if there is not None:
            _refuse_if_not_ours(there.schedule)
            self._schedules.delete(there.schedule.uuid)

    def _found(self, uuid: str) -> ScheduleEntry | None:
        try:
            return self._schedules.find(uuid)
        except NotFound:
            return None


def _same_uuid(field: str, uuid: str) -> str:
    if field != uuid:
        raise InvalidInput("uuid", f"{uuid!r} is not the field under which it stands")
    return check_id("uuid", uuid)


def _refuse_if_of_file(there: NodeType | JobType | Schedule | None) -> None:
    if there is not None and is_declared(there):
        raise NotTheirs(f"{there.name!r} is defined in a configuration file or an app; change it there")


def _refuse_if_not_ours(there: NodeType | JobType | Schedule) -> None:
    if there.managed_by != OWNER:
        raise NotTheirs(f"{there.name!r} was not defined among Synchrony's keys; remove it where it was")
