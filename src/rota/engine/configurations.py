"""Configurations: the only way to define, change and remove them. That events reach them is the work of `dependencies`.

A configuration that names no job makes one of the job type `rota.log`, which writes a line; one with an executor of its
own has a job type made for it, which goes with it.
"""

from collections.abc import Sequence

from msgspec import structs

from rota.clock import Clock
from rota.engine.definitions import DEFAULT_NODE_TYPE, MANAGED_BY_FILE, Definitions
from rota.engine.job_cycles import find_cycle
from rota.errors import Conflict, InvalidInput, NotFound
from rota.model.configuration import Configuration, carried_over, first_state
from rota.model.configuration_request import ConfigurationRequest
from rota.model.event import JOB
from rota.model.feasibility import why_impossible
from rota.model.ids import new_id
from rota.model.job_type import JobType
from rota.model.node import NodeType
from rota.store.events import ConfigurationChange, ConfigurationEntry
from rota.store.store import Store

LOG_JOB_TYPE = "rota.log"
OWN_PREFIX = "rota.configuration."
"""Names of job types that were made for one configuration begin so."""
MANAGED_BY_ROTA = "rota"
_TRIES = 100
"""A change that lost a race against an event is made again upon the newer state."""
_PAGE = 500


class Configurations:
    """Defines configurations."""

    def __init__(self, store: Store, definitions: Definitions, clock: Clock) -> None:
        self._store = store
        self._definitions = definitions
        self._clock = clock

    def find(self, name: str) -> ConfigurationEntry:
        """By name or uuid."""
        entry = self._store.find_configurations([name])[0]
        if entry is None and (uuid := self._store.configuration_uuid(name)):
            entry = self._store.find_configurations([uuid])[0]
        if entry is None:
            raise NotFound("configuration", name)
        return entry

    def _find_changeable(self, name: str) -> ConfigurationEntry:
        """What stands in the file would come back, or be changed back, at the next start."""
        entry = self.find(name)
        if entry.configuration.managed_by == MANAGED_BY_FILE:
            found = entry.configuration.name
            raise Conflict(f"the configuration {found!r} stands in the configuration file; change it there")
        return entry

    def create(self, request: ConfigurationRequest) -> ConfigurationEntry:
        """A new configuration; `Conflict` if there is one of this name."""
        self._check(request)
        if self._store.configuration_uuid(request.name) is not None:
            raise Conflict(f"there is a configuration {request.name!r} already")
        return self._create(request, managed_by="")

    def replace(self, name: str, request: ConfigurationRequest, *, expected: int | None = None) -> ConfigurationEntry:
        """Define a configuration anew. Dependencies that stayed as they were keep what is known of them."""
        self._check(request, instead_of=name)
        for _ in range(_TRIES):
            entry = self._find_changeable(name)
            if expected is not None and entry.state.version != expected:
                raise Conflict(
                    f"configuration {name!r} is at version {entry.state.version}, not {expected}; read it again"
                )
            if changed := self._replace(entry, request, managed_by=entry.configuration.managed_by):
                return changed
        raise Conflict(f"configuration {name!r} changes too often; try again")

    def delete(self, name: str) -> ConfigurationEntry:
        """Remove a configuration with all that is known of it. Its jobs stay."""
        entry = self._find_changeable(name)
        self._delete([entry])
        return entry

    def apply_file(self, requests: Sequence[ConfigurationRequest]) -> None:
        """Make the configurations that a file owns equal to those that stand in it now.

        What came by another way is never touched; a name that somebody else's configuration has is a conflict. One that
        did not change keeps its state untouched.
        """
        there = {entry.configuration.name: entry for entry in self._all()}
        for request in requests:
            entry = there.get(request.name)
            if entry and entry.configuration.managed_by != MANAGED_BY_FILE:
                raise Conflict(
                    f"{request.name!r} stands in the configuration file, but was defined in another way before"
                )
        for request in requests:
            self._check(request, instead_of=request.name)
            self._put_from_file(request, there.get(request.name))
        names = {request.name for request in requests}
        mine = [one for one in there.values() if one.configuration.managed_by == MANAGED_BY_FILE]
        self._delete([entry for entry in mine if entry.configuration.name not in names])

    def _put_from_file(self, request: ConfigurationRequest, entry: ConfigurationEntry | None) -> None:
        if entry is None:
            self._create(request, managed_by=MANAGED_BY_FILE)
            return
        for _ in range(_TRIES):
            if self._replace(entry, request, managed_by=MANAGED_BY_FILE):
                return
            entry = self.find(entry.configuration.uuid)
        raise Conflict(f"configuration {request.name!r} changes too often; try again")

    def _create(self, request: ConfigurationRequest, *, managed_by: str) -> ConfigurationEntry:
        now = self._clock.now()
        configuration = self._make(request, new_id(now), created_at=now, managed_by=managed_by)
        state = first_state(configuration)
        self._store.put_configurations([ConfigurationChange(configuration, state, None)])
        return ConfigurationEntry(configuration, state)

    def _replace(
        self, entry: ConfigurationEntry, request: ConfigurationRequest, *, managed_by: str
    ) -> ConfigurationEntry | None:
        """None if somebody else was faster."""
        old = entry.configuration
        made = self._make(request, old.uuid, created_at=old.created_at, managed_by=managed_by)
        if made == old:
            return entry
        state = carried_over(old, entry.state, made)
        if not self._store.put_configurations([ConfigurationChange(made, state, entry.state.version)])[0]:
            return None
        if old.own_job_type and not made.own_job_type:
            self._store.delete_job_types([old.job_type])
        return ConfigurationEntry(made, state)

    def _delete(self, entries: Sequence[ConfigurationEntry]) -> None:
        if not entries:
            return
        self._store.delete_configurations([entry.configuration.uuid for entry in entries])
        own = [entry.configuration.job_type for entry in entries if entry.configuration.own_job_type]
        if own:
            self._store.delete_job_types(own)

    def _make(self, request: ConfigurationRequest, uuid: str, *, created_at: int, managed_by: str) -> Configuration:
        job_type = self._job_type(request, uuid)
        return Configuration(
            uuid=uuid,
            name=request.name,
            queue=self._queue_of(job_type),
            job_type=job_type.uuid,
            dependencies=request.dependencies,
            rule=request.rule,
            arguments=request.job.arguments if request.job else {},
            priority=request.job.priority if request.job else 0,
            clock=request.clock,
            late=request.late,
            logs_only=request.job is None,
            own_job_type=request.job is not None and request.job.executor is not None,
            created_at=created_at,
            managed_by=managed_by,
        )

    def _queue_of(self, job_type: JobType) -> str:
        try:
            return self._definitions.node_type(job_type.node_type).uuid
        except NotFound as error:
            raise InvalidInput("job.job_type", f"{job_type.name!r} cannot run: {error}") from None

    def _job_type(self, request: ConfigurationRequest, uuid: str) -> JobType:
        """The job type that it names, or the one that is made for it."""
        wish = request.job
        if wish is None:
            return self._ensure_log_job_type()
        if wish.job_type is not None:
            return self._definitions.job_type(wish.job_type)
        self._ensure_default_node_type()
        name = OWN_PREFIX + request.name
        there = self._definitions.known_job_type(name)
        made = JobType(
            uuid=there.uuid if there else uuid,
            name=name,
            executor=wish.executor or "",
            metadata=wish.metadata,
            managed_by=MANAGED_BY_ROTA,
        )
        if made != there:
            self._definitions.define_job_type(made)
        return made

    def _ensure_log_job_type(self) -> JobType:
        found = self._definitions.known_job_type(LOG_JOB_TYPE)
        if found is None:
            self._ensure_default_node_type()
            found = self._definitions.known_job_type(LOG_JOB_TYPE)
        if found is None:
            made = JobType(
                uuid=new_id(self._clock.now()),
                name=LOG_JOB_TYPE,
                executor="log",
                metadata={"message": "job triggered: {arguments}"},
                managed_by=MANAGED_BY_ROTA,
            )
            try:
                self._definitions.define_job_type(made)
            except Conflict:
                self._definitions.refresh()  # another process was faster
            found = self._definitions.job_type(LOG_JOB_TYPE)
        return found

    def _ensure_default_node_type(self) -> None:
        self._definitions.ensure_node_type(NodeType(uuid=new_id(self._clock.now()), name=DEFAULT_NODE_TYPE))

    def move_to_queue(self, job_type: JobType) -> None:
        """A job type that was given to other nodes takes its configurations along."""
        queue = self._definitions.node_type(job_type.node_type).uuid
        for entry in self._all():
            one = entry.configuration
            if one.job_type == job_type.uuid and one.queue != queue:
                state = structs.replace(entry.state, version=entry.state.version + 1)
                change = ConfigurationChange(structs.replace(one, queue=queue), state, entry.state.version)
                self._store.put_configurations([change])

    def _check(self, request: ConfigurationRequest, instead_of: str | None = None) -> None:
        """Refuse what can never be met, and what would make jobs for ever."""
        if reason := why_impossible(request.dependencies, request.tree, request.late):
            raise InvalidInput("dependencies", reason)
        awaited = {one.resource for one in request.dependencies if one.type == JOB}
        if awaited and (cycle := self._cycle(request, awaited, instead_of)):
            shown = " -> ".join(cycle)
            raise InvalidInput("dependencies", f"would go round for ever: the end of a job makes the next one, {shown}")

    def _cycle(self, request: ConfigurationRequest, awaited: set[str], instead_of: str | None) -> list[str]:
        self._definitions.refresh()
        others = [one for one in self._store.listening_configurations() if instead_of not in (one.name, one.uuid)]
        return find_cycle(others, self._definitions, makes=self._made_name(request), awaits=awaited)

    def _made_name(self, request: ConfigurationRequest) -> str:
        """The name of the job type whose jobs it makes."""
        if request.job is None:
            return LOG_JOB_TYPE
        if request.job.job_type is None:
            return OWN_PREFIX + request.name
        return self._definitions.job_type(request.job.job_type).name

    def _all(self) -> list[ConfigurationEntry]:
        found: list[ConfigurationEntry] = []
        cursor: str | None = None
        while True:
            page = self._store.list_configurations(limit=_PAGE, cursor=cursor)
            found += page.entries
            cursor = page.cursor
            if cursor is None:
                return found
