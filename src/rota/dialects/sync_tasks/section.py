"""`sources:` and `sync_tasks:` of the configuration file, as job types and schedules that the file owns."""

import msgspec
from msgspec import Struct

from rota.dialects.sync_tasks.names import NODE_TYPE, Collection, check_part
from rota.dialects.sync_tasks.options import SECTION, SyncOptions
from rota.dialects.sync_tasks.task import CRON_PRIORITY
from rota.errors import InvalidInput
from rota.model.job_type import MAX_TIMEOUT_MS, JobType, OnNodeDeath, Unique
from rota.model.limits import check_name, check_payload, check_range
from rota.model.node import MAX_THREADS, NodeType
from rota.model.schedules.request import ScheduleRequest, make_schedule
from rota.settings import values
from rota.settings.definition_ids import definition_uuid
from rota.settings.definitions import FILE_OWNER
from rota.settings.document import Document
from rota.settings.section import SectionContent

SOURCES = "sources"
_HOW = ("executor", "metadata", "timeout", "tz")
"""What a source says for all of its collections, and each collection for itself."""
_SOURCE_KEYS = ["collections", *_HOW]
_COLLECTION_KEYS = ["name", "schedule", *_HOW]
_NAMES = {"ROTA_SOURCE": "source", "ROTA_COLLECTION": "name"}
MAX_LAST_RUNS = 1_000_000

Entry = dict[str, object]


class _Found(Struct, frozen=True):
    """One collection as the file has it."""

    job_type: JobType
    schedule: ScheduleRequest | None


def read_section(document: Document) -> SectionContent:
    """Both keys, checked as far as that can be done without asking executors."""
    options = _read_options(document)
    found = [one for source in _sources(document) for one in _read_source(document, *source)]
    threads = max(options.threads, 1)
    node_type = NodeType(
        uuid=definition_uuid("node_types", NODE_TYPE), name=NODE_TYPE, thread_count=threads, managed_by=FILE_OWNER
    )
    return SectionContent(
        node_types=(node_type,),
        job_types=tuple(one.job_type for one in found),
        schedules=tuple(one.schedule for one in found if one.schedule is not None),
        value=options,
    )


def _read_options(document: Document) -> SyncOptions:
    raw = document.content.get(SECTION)
    if raw is None:
        return SyncOptions()
    section = values.mapping(document.where(document.content, SECTION, SECTION), raw)
    checks = {
        "threads": values.whole(0, MAX_THREADS),
        "keys": values.flag,
        "last_runs": values.whole(1, MAX_LAST_RUNS),
    }
    document.refuse_unknown(section, list(checks), f"{SECTION}.")
    found = {
        key: check(document.where(section, key, f"{SECTION}.{key}"), section[key])
        for key, check in checks.items()
        if section.get(key) is not None
    }
    return msgspec.convert(found, SyncOptions)


def _sources(document: Document) -> list[tuple[str, Entry, str]]:
    """Name, mapping and path of each source."""
    raw = document.content.get(SOURCES)
    if raw is None:
        return []
    sources = values.mapping(document.where(document.content, SOURCES, SOURCES), raw)
    found = []
    for name in sources:
        path = f"{SOURCES}.{name}"
        where = document.where(sources, name, path)
        check_part(where, name)
        source = values.mapping(where, sources[name])
        document.refuse_unknown(source, _SOURCE_KEYS, f"{path}.")
        found.append((name, source, path))
    return found


def _read_source(document: Document, source: str, entry: Entry, path: str) -> list[_Found]:
    path = f"{path}.collections"
    if entry.get("collections") is None:
        raise InvalidInput(f"{document.name}: {path}", "is missing: a list of collections, each with a name")
    listed = values.listing(document.where(entry, "collections", path), entry["collections"])
    found: list[_Found] = []
    places: dict[str, str] = {}
    for index in range(len(listed)):
        where = document.where(listed, index, f"{path}[{index}]")
        one = _read_collection(document, source, entry, values.mapping(where, listed[index]), f"{path}[{index}]", where)
        name = one.job_type.labels["collection"]
        if name in places:
            raise InvalidInput(where, f"has the same name as {places[name]}; a collection has one schedule")
        places[name] = where
        found.append(one)
    return found


def _read_collection(document: Document, source: str, above: Entry, own: Entry, path: str, where: str) -> _Found:
    document.refuse_unknown(own, _COLLECTION_KEYS, f"{path}.")
    if own.get("name") is None:
        raise InvalidInput(where, "needs the key 'name'")
    collection = Collection(source, check_part(document.where(own, "name", f"{path}.name"), own["name"]))
    how = {key: own.get(key) if own.get(key) is not None else above.get(key) for key in _HOW}
    places = {
        key: document.where(own if own.get(key) is not None else above, key, f"{path}.{key}")
        for key in _HOW
        if how[key] is not None
    }
    if how["executor"] is None:
        raise InvalidInput(where, f"needs the key 'executor', here or at the source {source!r}: how it is synchronised")
    schedule = _read_schedule(document, collection, own, how, path)
    return _Found(_job_type(collection, how, places), schedule)


def _job_type(collection: Collection, how: Entry, places: dict[str, str]) -> JobType:
    timeout = how["timeout"]
    name = collection.job_type_name
    return JobType(
        uuid=definition_uuid("job_types", name),
        name=name,
        executor=check_name(places["executor"], how["executor"]),
        metadata=_metadata(collection, how, places.get("metadata", "")),
        unique=Unique.WHILE_PENDING,
        node_type=NODE_TYPE,
        timeout_ms=None if timeout is None else check_range(places["timeout"], timeout, 1, MAX_TIMEOUT_MS),
        on_node_death=OnNodeDeath.FAIL,
        managed_by=FILE_OWNER,
        labels=collection.labels,
    )


def _metadata(collection: Collection, how: Entry, where: str) -> Entry:
    """As plain JSON values. A command is told its names in its environment, whatever its source says there."""
    given = msgspec.to_builtins(values.mapping(where, how["metadata"])) if how["metadata"] is not None else {}
    found: Entry = msgspec.json.decode(check_payload(where or "metadata", given))
    if how["executor"] == "bash":
        environment = found.get("environment")
        own = {name: getattr(collection, field) for name, field in _NAMES.items()}
        found["environment"] = {**(environment if isinstance(environment, dict) else {}), **own}
    return found


def _read_schedule(
    document: Document, collection: Collection, own: Entry, how: Entry, path: str
) -> ScheduleRequest | None:
    if own.get("schedule") is None:
        return None
    name = collection.job_type_name
    where = document.where(own, "schedule", f"{path}.schedule")
    tz = None if how["tz"] is None else values.text(f"{path}.tz", how["tz"])
    request = ScheduleRequest(
        name=name,
        job_type=name,
        job_arguments=collection.arguments,
        cron=values.text(where, own["schedule"]),
        tz=tz,
        utc=tz is None,
        priority=CRON_PRIORITY,
        catch_up="none",
    )
    try:
        make_schedule(request, uuid="", job_type="", queue="", created_at=0, now=None)
    except InvalidInput as error:
        raise InvalidInput(where, error.reason) from None
    return request
