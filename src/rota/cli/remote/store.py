"""What a server tells, read as from a store. What it does not tell is refused: that verb works on the store itself."""

from collections.abc import Sequence
from typing import Any, NoReturn

from msgspec import Struct

from rota.errors import InvalidInput, NotFound
from rota.model.access.audit import AuditEntry
from rota.model.access.masking import mask_url
from rota.model.events.configuration import Configuration
from rota.model.job import Job, JobState
from rota.model.job_type import JobType
from rota.model.node import Node, NodeType
from rota.model.runs.log import LogEntry
from rota.model.runs.progress import Progress
from rota.model.schedules.schedule import Tick
from rota.sdk.call import Call, path_to, present
from rota.sdk.client import Client
from rota.shapes.audit import AuditShape, audit_entry_of
from rota.shapes.definitions import JobTypeShape, NodeTypeShape, job_type_of, node_type_of
from rota.shapes.events.configurations import ConfigurationShape, configuration_entry_of
from rota.shapes.events.events import ValidationShape, validation_of
from rota.shapes.jobs import JobShape, LogShape, job_of, log_of, progress_of
from rota.shapes.nodes import NodeShape, QueueShape, node_of
from rota.shapes.schedules import ScheduleShape, TickShape, schedule_entry_of, tick_of
from rota.shapes.topics import RecordShape, TopicShape, topic_of, topic_row_of
from rota.store.contract.events import ConfigurationEntry, ConfigurationPage, Validation
from rota.store.contract.jobs import JobPage, JobQuery
from rota.store.contract.logs import LogPage
from rota.store.contract.schedules import SchedulePage
from rota.store.contract.topics import TopicEntry, TopicPage

_MOST_LINES = 10_000
_MOST_ROWS = 1_000


class JobList(Struct, frozen=True):
    jobs: list[JobShape]
    cursor: str | None = None


class LogList(Struct, frozen=True):
    logs: list[LogShape]
    next: int
    more: bool = False


class JobTypeRows(Struct, frozen=True, rename={"rows": "job_types"}):
    rows: list[JobTypeShape]
    cursor: str | None = None


class ScheduleRows(Struct, frozen=True, rename={"rows": "schedules"}):
    rows: list[ScheduleShape]
    cursor: str | None = None


class ConfigurationRows(Struct, frozen=True, rename={"rows": "configurations"}):
    rows: list[ConfigurationShape]
    cursor: str | None = None


class AuditRows(Struct, frozen=True, rename={"rows": "changes"}):
    rows: list[AuditShape]
    cursor: str | None = None


class RecordList(Struct, frozen=True):
    topic: TopicShape
    records: list[RecordShape]
    following: int


class RemoteStore:
    """The part of `rota.store.Store` for which a server answers, each operation by the key's own rights."""

    def __init__(self, client: Client, url: str) -> None:
        self._client = client
        self._version = 0
        self._progress: dict[str, Progress] = {}
        self._queues: list[QueueShape] = []
        self._configurations: dict[str, Configuration] = {}
        self.url = mask_url(url)

    def __getattr__(self, operation: str) -> NoReturn:
        """Anything else that a verb would do with a store."""
        raise InvalidInput(
            "--server", "no server does that for you; call it where the store is, with --store or without ROTA_SERVER"
        )

    def get(self, *path: str, answer: Any, within: str = "", **query: object) -> Any:
        """What the server has there."""
        return self._client.send(
            Call(method="GET", path=path_to(*path), answer=answer, within=within, query=present(query))
        )

    def _rows(
        self, path: str, answer: Any, *, limit: int | None = None, cursor: str | None = None, **query: Any
    ) -> tuple[list[Any], str | None]:
        """Up to `limit` rows of a listing, or all, and the cursor behind them. A server cuts its answers short, by
        number and by length, and says that there are more; a store does not, so neither do we."""
        found: list[Any] = []
        while True:
            rest = None if limit is None else min(limit - len(found), _MOST_ROWS)
            page = self.get(path, answer=answer, limit=rest, cursor=cursor, **query)
            found += page.rows
            cursor = page.cursor
            if cursor is None or (limit is not None and len(found) >= limit):
                return found, cursor

    def changed(self) -> None:
        """Definitions are read anew when they are needed next."""
        self._version += 1

    def close(self) -> None:
        self._client.close()

    # -- definitions, queues, nodes --------------------------------------------------------------------------------

    def definitions_version(self) -> int:
        return self._version

    def list_node_types(self) -> list[NodeType]:
        found = self.get("node_types", answer=list[NodeTypeShape], within="node_types")
        return [node_type_of(one) for one in found]

    def list_job_types(self) -> list[JobType]:
        return [job_type_of(one) for one in self._rows("job_types", JobTypeRows)[0]]

    def listening_configurations(self) -> list[Any]:
        return []

    def paused_queues(self) -> frozenset[str]:
        self._queues = self.get("queues", answer=list[QueueShape], within="queues")
        return frozenset(one.uuid for one in self._queues if one.paused)

    def count_jobs(self, queue: str) -> dict[JobState, int]:
        """As of the last look at all queues."""
        if not any(one.uuid == queue for one in self._queues):
            self.paused_queues()
        counts = next((one.jobs for one in self._queues if one.uuid == queue), {})
        return {state: counts.get(state.value, 0) for state in JobState}

    def list_nodes(self, *, since: int) -> list[Node]:
        found = self.get("nodes", answer=list[NodeShape], within="nodes", since=since)
        return [node for one in found if (node := node_of(one)).last_ping >= since]  # older servers tell who lives

    # -- jobs ------------------------------------------------------------------------------------------------------

    def list_jobs(self, query: JobQuery, *, limit: int, cursor: str | None = None) -> JobPage:
        page: JobList = self.get(
            "jobs",
            answer=JobList,
            state=sorted(query.states) or None,
            job_type=query.job_type,
            node_type=query.queue,
            node=query.node,
            schedule=query.schedule,
            since=query.since,
            until=query.until,
            search=query.search,
            limit=min(limit, _MOST_ROWS),
            cursor=cursor,
        )
        return JobPage([self._job(one) for one in page.jobs], page.cursor)

    def find_jobs(self, job_ids: Sequence[str], *, queue: str | None = None) -> list[Job | None]:
        found = [self._find(one) for one in job_ids]
        return [job if job and queue in (None, job.spec.queue) else None for job in found]

    def _find(self, job_id: str) -> Job | None:
        try:
            return self._job(self.get("jobs", job_id, answer=JobShape))
        except NotFound:
            return None

    def _job(self, shape: JobShape) -> Job:
        if shape.progress is not None:
            self._progress[shape.uuid] = progress_of(shape.progress)
        return job_of(shape)

    def read_progress(self, queue: str, job_ids: Sequence[str]) -> dict[str, Progress]:
        """What was told together with the jobs."""
        return {job_id: self._progress[job_id] for job_id in job_ids if job_id in self._progress}

    def read_logs(self, job_id: str, *, after: int = 0, limit: int = 1000) -> LogPage:
        entries: list[LogEntry] = []
        while True:  # a server cuts a page of long lines short, and says that there are more
            most = min(limit - len(entries), _MOST_LINES)
            page: LogList = self.get("jobs", job_id, "logs", answer=LogList, after=after, limit=most)
            entries += [log_of(one) for one in page.logs]
            after = page.next
            if not page.more or len(entries) >= limit:
                return LogPage(entries, after)

    # -- schedules -------------------------------------------------------------------------------------------------

    def list_schedules(self, *, limit: int, cursor: str | None = None, job_type: str | None = None) -> SchedulePage:
        found, cursor = self._rows("schedules", ScheduleRows, limit=limit, cursor=cursor, job_type=job_type)
        return SchedulePage([schedule_entry_of(one) for one in found], cursor)

    def list_ticks(self, uuid: str, *, limit: int, before: int | None = None) -> list[Tick]:
        rows = self.get(
            "schedules",
            uuid,
            "ticks",
            answer=list[TickShape],
            within="ticks",
            limit=min(limit, _MOST_ROWS),
            before=before,
        )
        return [tick_of(one) for one in rows]

    # -- configurations --------------------------------------------------------------------------------------------

    def list_configurations(self, *, limit: int, cursor: str | None = None) -> ConfigurationPage:
        found, cursor = self._rows("configurations", ConfigurationRows, limit=limit, cursor=cursor)
        return ConfigurationPage([self._configuration(one) for one in found], cursor)

    def find_configurations(self, uuids: Sequence[str]) -> list[ConfigurationEntry | None]:
        """By name too."""
        return [self._find_configuration(one) for one in uuids]

    def configuration_uuid(self, name: str) -> str | None:
        found = self._find_configuration(name)
        return found.configuration.uuid if found else None

    def _find_configuration(self, name: str) -> ConfigurationEntry | None:
        try:
            return self._configuration(self.get("configurations", name, answer=ConfigurationShape))
        except NotFound:
            return None

    def _configuration(self, shape: ConfigurationShape) -> ConfigurationEntry:
        entry = configuration_entry_of(shape)
        self._configurations[shape.uuid] = entry.configuration
        return entry

    def list_validations(self, uuid: str, *, limit: int) -> list[Validation]:
        """Of a configuration that was looked at before."""
        most = min(limit, _MOST_ROWS)
        found = self.get("configurations", uuid, "events", answer=list[ValidationShape], within="events", limit=most)
        if len(found) == most < limit:
            name = self._configurations[uuid].name
            raise InvalidInput(
                "--limit",
                f"a server tells at most {most} events of a configuration, and {name} may have more; "
                "ask for so many, or where the store is, with --store or without ROTA_SERVER",
            )
        return [validation_of(one, self._configurations[uuid]) for one in found]

    # -- topics ----------------------------------------------------------------------------------------------------

    def list_topics(self, *, limit: int, after: str = "") -> list[TopicEntry]:
        found = self.get("topics", answer=list[TopicShape], within="topics", limit=limit, after=after or None)
        return [topic_of(one) for one in found]

    def read_topic(self, topic: str, *, offset: int, limit: int) -> TopicPage | None:
        try:
            page: RecordList = self.get("topics", topic, answer=RecordList, offset=offset, limit=min(limit, _MOST_ROWS))
        except NotFound:
            return None
        return TopicPage(topic_of(page.topic), [topic_row_of(one) for one in page.records], page.following)

    # -- the audit log ---------------------------------------------------------------------------------------------

    def list_audit(self, *, limit: int, before: str | None = None) -> list[AuditEntry]:
        return [audit_entry_of(one) for one in self._rows("audit", AuditRows, limit=limit, cursor=before)[0]]
