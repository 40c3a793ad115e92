"""`sources:` and `sync_tasks:` of the configuration file, as job types and schedules that the file owns."""

import msgspec
from msgspec import Struct, structs

from rota.dialects.sync_tasks.names import NODE_TYPE, NOTIFY, Collection, check_part, notice_job_type_name
from rota.dialects.sync_tasks.options import SECTION, SyncOptions
from rota.dialects.sync_tasks.task import CRON_PRIORITY
from rota.errors import InvalidInput
from rota.model.job_type import MAX_TIMEOUT_MS, JobType, OnNodeDeath, Unique
from rota.model.limits import check_name, check_payload
from rota.model.node import MAX_THREADS, NodeType
from rota.model.runs.retry import RetryPolicy
from rota.model.schedules.request import ScheduleRequest, make_schedule
from rota.model.triggers.durations import check_duration
from rota.settings import values
from rota.settings.definition_ids import definition_uuid
from rota.settings.definitions import FILE_OWNER
from rota.settings.document import Document
from rota.settings.section import SectionContent

SOURCES = "sources"
_HOW = ("executor", "metadata", "timeout", "tz", "notify", "log_max_age_days")
"""What a source says for all of its collections, and each collection for itself."""
_SOURCE_KEYS = ["collections", *_HOW]
_COLLECTION_KEYS = ["name", "schedule", *_HOW]
_NAMES = {"ROTA_SOURCE": "source", "ROTA_COLLECTION": "name"}
_NOTHING_TO_RUN: dict[str, object] = {
    "executor": "log",
    "metadata": {
        "message": "{arguments}: this collection has no executor in the configuration file, so nothing was run"
    },
}
"""The document's own sample says when, and not how."""
MAX_LAST_RUNS = 1_000_000
_DAY_MS = 24 * 3600 * 1000
_log_age = values.number(0.001, 36_500)

Entry = dict[str, object]


class _Found(Struct, frozen=True):
    """One collection as the file has it."""

    job_type: JobType
    schedule: ScheduleRequest | None
    places: dict[str, str]
    """Where the keys are that its job type is made of."""


def read_section(document: Document) -> SectionContent:
    """Both keys, checked as far as that can be done without asking executors."""
    options = _read_options(document)
    sources = _sources(document)
    found = [one for source in sources for one in _read_source(document, *source, options=options)]
    threads = max(options.threads, 1)
    node_type = NodeType(
        uuid=definition_uuid("node_types", NODE_TYPE), name=NODE_TYPE, thread_count=threads, managed_by=FILE_OWNER
    )
    return SectionContent(
        node_types=(node_type,),
        job_types=_with_notices([one.job_type for one in found]),
        schedules=tuple(one.schedule for one in found if one.schedule is not None),
        places={one.job_type.name: one.places for one in found},
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
        "log_max_age_days": _log_age,
        "notify": values.url,
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


def _read_source(document: Document, source: str, entry: Entry, path: str, *, options: SyncOptions) -> list[_Found]:
    path = f"{path}.collections"
    if entry.get("collections") is None:
        raise InvalidInput(f"{document.name}: {path}", "is missing: a list of collections, each with a name")
    listed = values.listing(document.where(entry, "collections", path), entry["collections"])
    found: list[_Found] = []
    places: dict[str, str] = {}
    for index in range(len(listed)):
        where = document.where(listed, index, f"{path}[{index}]")
        own = values.mapping(where, listed[index])
        one = _read_collection(document, source, entry, own, f"{path}[{index}]", where, options)
        name = one.job_type.labels["collection"]
        if name in places:
            raise InvalidInput(where, f"has the same name as {places[name]}; a collection has one schedule")
        places[name] = where
        found.append(one)
    return found


def _read_collection(
    document: Document, source: str, above: Entry, own: Entry, path: str, where: str, options: SyncOptions
) -> _Found:
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
        how |= _NOTHING_TO_RUN
    schedule = _read_schedule(document, collection, own, how, path)
    return _Found(_job_type(collection, how, places, options), schedule, {"name": where, **places})


def _job_type(collection: Collection, how: Entry, places: dict[str, str], options: SyncOptions) -> JobType:
    timeout = how["timeout"]
    name = collection.job_type_name
    return JobType(
        uuid=definition_uuid("job_types", name),
        name=name,
        executor=check_name(places.get("executor", ""), how["executor"]),
        metadata=_metadata(collection, how, places.get("metadata", "")),
        unique=Unique.WHILE_PENDING,
        node_type=NODE_TYPE,
        timeout_ms=None if timeout is None else check_duration(places["timeout"], timeout, 1, MAX_TIMEOUT_MS),
        on_node_death=OnNodeDeath.FAIL,
        managed_by=FILE_OWNER,
        series=collection.series,
        history_max_count=options.last_runs,
        log_max_age_ms=_log_max_age_ms(how, places, options),
        labels=collection.labels | _notify_label(how, places, options),
    )


def _log_max_age_ms(how: Entry, places: dict[str, str], options: SyncOptions) -> int | None:
    days = how["log_max_age_days"]
    if days is None:
        days = options.log_max_age_days
    else:
        _log_age(places["log_max_age_days"], days)
    return round(days * _DAY_MS) if isinstance(days, int | float) else None


def _notify_label(how: Entry, places: dict[str, str], options: SyncOptions) -> dict[str, str]:
    url = options.notify if how["notify"] is None else values.url(places["notify"], how["notify"])
    return {} if url is None else {NOTIFY: url}


def _with_notices(job_types: list[JobType]) -> tuple[JobType, ...]:
    """The job types, and one for each URL that is told; labels name that one instead of the URL."""
    urls = {one.labels[NOTIFY] for one in job_types if NOTIFY in one.labels}
    named = [
        structs.replace(one, labels={**one.labels, NOTIFY: notice_job_type_name(one.labels[NOTIFY])})
        if NOTIFY in one.labels
        else one
        for one in job_types
    ]
    return (*named, *map(_notice_job_type, sorted(urls)))


def _notice_job_type(url: str) -> JobType:
    name = notice_job_type_name(url)
    return JobType(
        uuid=definition_uuid("job_types", name),
        name=name,
        executor="http",
        metadata={"url": url, "method": "POST", "body": {"text": "{{ arguments.text }}"}},
        retry=RetryPolicy(attempts=5, delay_ms=1_000, max_delay_ms=60_000),
        managed_by=FILE_OWNER,
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
