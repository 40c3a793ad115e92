"""Configurations: the only way to define, change and remove them. That events reach them is the work of `events.py`.

A configuration that names no job makes one of the job type `rota.log`, which writes a line; one with an executor of its
own has a job type made for it, which goes with it.
"""

from collections.abc import Sequence

from rota.clock import Clock
from rota.engine.access.audit.record import change_of, recorded
from rota.engine.access.keys.access import Caller
from rota.engine.access.keys.rights import check_may_define, check_may_make, check_may_trigger
from rota.engine.definitions.built_in import LOG_JOB_TYPE, ensure_built_in, ensure_default_node_type
from rota.engine.definitions.definitions import Definitions
from rota.engine.definitions.job_cycles import Names, find_cycle, names_with, refusal_of
from rota.engine.definitions.ownership import MANAGED_BY_ROTA, refuse_file_owned
from rota.engine.events.explaining import explanation_of
from rota.errors import Conflict, InvalidInput, NotFound
from rota.model.events.configuration import Configuration, carried_over, first_state
from rota.model.events.configuration_request import ConfigurationRequest
from rota.model.events.event import JOB
from rota.model.events.explanation import Explanation
from rota.model.events.feasibility import why_impossible
from rota.model.ids import new_id
from rota.model.job_type import JobType
from rota.store.contract.events import ConfigurationChange, ConfigurationEntry
from rota.store.contract.store import Store

KIND = "configuration"
OWN_PREFIX = "rota.configuration."
"""Names of job types that were made for one configuration begin so."""
_TRIES = 100
"""A change that lost a race against an event is made again upon the newer state."""


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

    def explain(self, name: str) -> tuple[str, Explanation]:
        """Why it fired or did not; with its own name, whatever it was found by."""
        entry = self.find(name)
        return entry.configuration.name, explanation_of(self._store, entry, self._clock.now())

    def _find_changeable(self, name: str) -> ConfigurationEntry:
        """One that no file owns."""
        entry = self.find(name)
        refuse_file_owned(entry.configuration)
        return entry

    def create(self, request: ConfigurationRequest, *, by: Caller | None = None) -> ConfigurationEntry:
        """A new configuration; `Conflict` if there is one of this name. One that makes what the caller may not is
        refused."""
        self._check_may_make(by, request)
        for _ in range(_TRIES):
            rules_version = self._check(request)
            if self._is_there(request.name):
                raise Conflict(f"there is a configuration {request.name!r} already")
            if created := self._create(request, managed_by="", rules_version=rules_version):
                return created
        raise Conflict(f"configurations that wait for jobs change too often to define {request.name!r}; try again")

    def _is_there(self, name: str) -> bool:
        """A name may be left over from a creation that was cut short. The store frees it."""
        uuid = self._store.configuration_uuid(name)
        return uuid is not None and self._store.find_configurations([uuid]) != [None]

    def replace(
        self, name: str, request: ConfigurationRequest, *, by: Caller | None = None, expected: int | None = None
    ) -> ConfigurationEntry:
        """Define a configuration anew. Dependencies that stayed as they were keep what is known of them."""
        for _ in range(_TRIES):
            rules_version = self._check(request, instead_of=name)
            entry = self._find_changeable(name)
            self._check_may_make(by, request, entry.configuration)
            if expected is not None and entry.state.version != expected:
                raise Conflict(
                    f"configuration {name!r} is at version {entry.state.version}, not {expected}; read it again"
                )
            managed_by = entry.configuration.managed_by
            if changed := self._replace(entry, request, managed_by=managed_by, rules_version=rules_version):
                return changed
        raise Conflict(f"configuration {name!r} changes too often; try again")

    def delete(self, name: str) -> ConfigurationEntry:
        """Remove a configuration with all that is known of it. Its jobs stay."""
        entry = self._find_changeable(name)
        self.remove([entry])
        return entry

    def put_from_file(
        self, request: ConfigurationRequest, entry: ConfigurationEntry | None, *, managed_by: str
    ) -> None:
        """Bring a configuration of a file into the store; one that did not change keeps its state untouched."""
        for _ in range(_TRIES):
            rules_version = self._check(request, instead_of=request.name)
            if entry is None:
                done = self._create(request, managed_by=managed_by, rules_version=rules_version)
            else:
                entry = self.find(entry.configuration.uuid)
                done = self._replace(entry, request, managed_by=managed_by, rules_version=rules_version)
            if done:
                return
        raise Conflict(f"configuration {request.name!r} changes too often; try again")

    def remove(self, entries: Sequence[ConfigurationEntry]) -> None:
        """Remove configurations, whoever owns them, and the job types that were made for them."""
        if not entries:
            return
        changes = [change_of(KIND, entry.configuration, None) for entry in entries]
        own = [entry.configuration.job_type for entry in entries if entry.configuration.own_job_type]
        with recorded(self._store, *changes, now=self._clock.now()):
            self._store.delete_configurations([entry.configuration.uuid for entry in entries])
            if own:
                self._store.delete_job_types(own)

    def _create(
        self, request: ConfigurationRequest, *, managed_by: str, rules_version: int | None
    ) -> ConfigurationEntry | None:
        """None if somebody else changed what it was checked against."""
        now = self._clock.now()
        configuration = self._make(request, new_id(now), created_at=now, managed_by=managed_by)
        state = first_state(configuration)
        change = ConfigurationChange(configuration, state, None)
        if not self._put(change, before=None, rules_version=rules_version):
            return None
        return ConfigurationEntry(configuration, state)

    def _put(self, change: ConfigurationChange, *, before: Configuration | None, rules_version: int | None) -> bool:
        """Store it, and have it in the audit log; False if somebody else was faster."""
        told = change_of(KIND, before, change.configuration)
        with recorded(self._store, told, now=self._clock.now()) as recording:
            is_done = self._store.put_configurations([change], rules_version=rules_version)[0]
            if not is_done:
                recording.nothing_was_done()
            elif before and before.own_job_type and not change.configuration.own_job_type:
                self._store.delete_job_types([before.job_type])
        return is_done

    def _replace(
        self, entry: ConfigurationEntry, request: ConfigurationRequest, *, managed_by: str, rules_version: int | None
    ) -> ConfigurationEntry | None:
        """None if somebody else was faster."""
        old = entry.configuration
        made = self._make(request, old.uuid, created_at=old.created_at, managed_by=managed_by)
        if made == old:
            return entry
        state = carried_over(old, entry.state, made)
        change = ConfigurationChange(made, state, entry.state.version)
        if not self._put(change, before=old, rules_version=rules_version):
            return None
        return ConfigurationEntry(made, state)

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
            raise InvalidInput("job.job_type", f"{job_type.name!r} cannot run: {error.without_suggestion}") from None

    def _job_type(self, request: ConfigurationRequest, uuid: str) -> JobType:
        """The job type that it names, or the one that is made for it."""
        job = request.job
        if job is None:
            return ensure_built_in(self._definitions, LOG_JOB_TYPE, self._clock.now())
        if job.job_type is not None:
            return self._definitions.job_type(job.job_type)
        ensure_default_node_type(self._definitions, self._clock.now())
        name = OWN_PREFIX + request.name
        there = self._definitions.known_job_type(name)
        made = JobType(
            uuid=there.uuid if there else uuid,
            name=name,
            executor=job.executor or "",
            metadata=job.metadata,
            managed_by=MANAGED_BY_ROTA,
        )
        if there is None or made != there.unversioned:
            self._definitions.define_job_type(made)
        return made

    def _check_may_make(
        self, by: Caller | None, request: ConfigurationRequest, old: Configuration | None = None
    ) -> None:
        """What is made as before was allowed to whoever defined it."""
        if request.job is not None and request.job.executor:
            check_may_define(by)
        elif by is not None:
            job_type, arguments = self._job_type(request, ""), request.job.arguments if request.job else {}
            if old is not None and (old.job_type, old.arguments) == (job_type.uuid, arguments):
                check_may_trigger(by, job_type)
            else:
                check_may_make(by, job_type, arguments, field="job.arguments")

    def _check(self, request: ConfigurationRequest, instead_of: str | None = None) -> int | None:
        """Refuse what can never be met, and what would make jobs for ever. Returns the version of the job rules against
        which that was checked, if it adds one to them."""
        self.check_possible(request)
        awaited = {one.resource for one in request.dependencies if one.type == JOB}
        if not awaited:
            return None
        rules = self._store.read_job_rules()
        self._definitions.refresh()  # only now, so that the job types of all these rules are known
        others = [one for one in rules.configurations if instead_of not in (one.name, one.uuid)]
        names = names_with(rules, self._definitions.known_job_type_names())
        if cycle := find_cycle(others, names, makes=self._made_names(request, names), awaits=awaited):
            raise InvalidInput("dependencies", refusal_of(cycle))
        return rules.version

    def check_possible(self, request: ConfigurationRequest) -> None:
        """Refuse what can never be met."""
        if reason := why_impossible(request.dependencies, request.tree, request.late):
            raise InvalidInput("dependencies", reason)

    def _made_names(self, request: ConfigurationRequest, names: Names) -> set[str]:
        """The names that the job type has whose jobs it makes, or is being given."""
        if request.job is None:
            return {LOG_JOB_TYPE}
        if request.job.job_type is None:
            return {OWN_PREFIX + request.name}
        job_type = self._definitions.job_type(request.job.job_type)
        return {job_type.name, *names.get(job_type.uuid, ())}
