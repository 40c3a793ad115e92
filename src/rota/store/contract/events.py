"""The contract of a store, for configurations and what events did to them. What `store.py` says of all operations holds
here too.

A configuration lives with the queue of its job, so that evidence, evaluations, state and job are written in one step on
a cluster too. Every change says which version of the configuration it saw, and happens only if that is still the one
there is: this is what gives any number of processes that take events the same answers as one.

Dependencies are found by an index: by type and exact resource, and, for directories, prefixes and globs, by type and
the literal beginning of the resource. The index answers which stored beginnings a resource has, so what an event costs
does not grow with what is defined.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

from msgspec import Struct, structs

from rota.model.events.configuration import Configuration, ConfigurationState, Match, literal_start
from rota.model.events.evaluation import Evaluation, Verdict
from rota.model.events.event import JOB, Event, EventRef
from rota.model.events.record import EventRecord
from rota.model.job import Ending, JobSpec
from rota.model.job_type import JobType
from rota.model.runs.settlement import Settlement, cancelled_ending, end_event

MAX_EVALUATIONS = 200
"""Kept for each configuration, the latest ones."""
MAX_VALIDATIONS = 10_000
"""Events that validated something, kept for each configuration at most, however long they would live."""
MAX_EVENT_RECORDS = 10_000
"""Of events that were taken, the latest ones, whatever they did."""
TRIM_EVERY = 100
"""What is over a limit is forgotten when the version of a configuration is a multiple of this, not one by one."""


class ConfigurationEntry(Struct, frozen=True):
    """A configuration as it is now."""

    configuration: Configuration
    state: ConfigurationState
    known_events: frozenset[str] = frozenset()
    """Those of the ids that were asked about which validated something here."""

    def __post_init__(self) -> None:
        if len(self.state.evidence) != len(self.configuration.dependencies):
            raise ValueError("its state has evidence of other dependencies than it has")


class ConfigurationChange(Struct, frozen=True):
    """A configuration as it is to be."""

    configuration: Configuration
    state: ConfigurationState
    expected: int | None
    """The version that is replaced; None for a new configuration."""


class JobRules(Struct, frozen=True):
    """The configurations that wait for the end of jobs, those included that are being written at the moment."""

    version: int
    """Another one whenever such a configuration is put, or a job type upon a version of these."""
    configurations: list[Configuration]
    names: frozenset[tuple[str, str]] = frozenset()
    """Uuids of job types, and names that they are being given at the moment. They may still have others."""


class Place(Struct, frozen=True):
    """Where a configuration lives."""

    queue: str
    uuid: str


class Validation(Struct, frozen=True, omit_defaults=True):
    """An event that validated a dependency."""

    event: EventRef
    dependency: int
    has_own_id: bool = False


class Verdicts(Struct, frozen=True):
    """What some events, in their order, did to one configuration."""

    configuration: Configuration
    expected: int
    """The version that was judged upon."""
    state: ConfigurationState
    evaluations: tuple[Evaluation, ...]
    validations: tuple[Validation, ...]
    specs: tuple[JobSpec, ...] = ()
    """The jobs that the triggered ones among the evaluations make; those name them."""
    forget_before: int = 0
    """Validations received before this instant may be forgotten."""


class Applied(Struct, frozen=True):
    """The answer to verdicts."""

    done: bool
    """False, and nothing of it happened: the configuration is no longer the expected version."""
    survivors: dict[str, str] = {}
    """For jobs that were not made, because their unique key is taken: the live job that has it."""


class ConfigurationPage(Struct, frozen=True):
    entries: list[ConfigurationEntry]
    cursor: str | None = None


class IndexKey(NamedTuple):
    """Under what a dependency is found."""

    type: str
    kind: str
    start: str


EXACT, BEGINNING = "=", "^"


def index_keys(configuration: Configuration) -> set[IndexKey]:
    """Every key under which a configuration is found."""
    return {
        IndexKey(one.type, EXACT, one.resource)
        if one.match is Match.EXACT
        else IndexKey(one.type, BEGINNING, literal_start(one.match, one.resource))
        for one in configuration.dependencies
    }


def waits_for_jobs(configuration: Configuration) -> bool:
    return any(one.type == JOB for one in configuration.dependencies)


class Awaited(Struct, frozen=True):
    """Which ends of jobs some configuration waits for, as of one version of the definitions, or the flow they are part
    of."""

    version: int
    names: dict[str, str] = {}
    """Uuid to name of their job types."""

    def event_of(self, spec: JobSpec, ending: Ending) -> Event | None:
        """The event that the end of a job is, if it is waited for. Whoever ends a job, for whatever reason, asks here,
        and puts the event into the outbox in the step that ends it."""
        # The uuid is no name, so no configuration hears of an end that only a flow waits for.
        name = self.names.get(spec.job_type) or (spec.job_type if spec.flow and spec.flow.rest else None)
        return end_event(spec.id, ending, name) if name else None

    def events_of(self, settlements: Sequence[Settlement], now: int) -> dict[str, Event]:
        """By job id, the events that settlements are: those of ends, and those of jobs on their way back in case that
        their cancellation was requested. On the hot path there seldom are any."""
        if not self.names and all(one.claim.spec.flow is None for one in settlements):
            return {}
        ends = ((one.claim.spec, one.ending or cancelled_ending(one, now)) for one in settlements)
        return {spec.id: event for spec, ending in ends if (event := self.event_of(spec, ending))}


def awaited_ends(version: int, listening: Iterable[Configuration], job_types: Iterable[JobType]) -> Awaited:
    waiting = {one.resource for each in listening for one in each.dependencies if one.type == JOB}
    return Awaited(version, {one.uuid: one.name for one in job_types if one.name in waiting})


def not_made(evaluation: Evaluation) -> Evaluation:
    """The evaluation of an event whose job was not made, because its unique key is taken."""
    return structs.replace(evaluation, verdict=Verdict.UNIQUE, job=None)


def is_time_to_trim(verdicts: Verdicts) -> bool:
    return verdicts.expected // TRIM_EVERY != verdicts.state.version // TRIM_EVERY


class EventStore(Protocol):
    """Everything Rota remembers of configurations and events."""

    def put_configurations(
        self, changes: Sequence[ConfigurationChange], *, rules_version: int | None = None
    ) -> list[bool]:
        """Create or replace configurations; one answer per change, in order.

        False: it is no longer the expected version, or a new one's uuid is taken. All are False, and nothing changed,
        if the job rules are no longer of the version `rules_version`, where one is given: what was judged upon them may
        not hold any more. `Conflict`, and nothing changed, if a name belongs to another configuration.

        One whose queue is another than before moves there with what events did to it. Whoever dies on the way leaves it
        in one of the two queues, and in no other.

        `definitions_version` changes with those that wait for the end of jobs. Every end that any process settles from
        the moment of the answer on is told to those, also in queues that are made later.
        """
        ...

    def delete_configurations(self, uuids: Sequence[str]) -> list[bool]:
        """Forget configurations with all that is known of them; their jobs stay. False: there was none."""
        ...

    def find_configurations(self, uuids: Sequence[str]) -> list[ConfigurationEntry | None]:
        """One answer per uuid, in order."""
        ...

    def configuration_uuid(self, name: str) -> str | None:
        """The uuid of the configuration with this name."""
        ...

    def list_configurations(self, *, limit: int, cursor: str | None = None) -> ConfigurationPage:
        """A page of configurations, by name."""
        ...

    def listening_configurations(self) -> list[Configuration]:
        """Those that wait for the end of jobs, those included that are being written at the moment."""
        ...

    def read_job_rules(self) -> JobRules:
        """What to judge a configuration upon that waits for the end of jobs, before it is put."""
        ...

    def match_events(self, events: Sequence[Event]) -> list[list[Place]]:
        """For each event the configurations that may have a dependency on it, each once and where it lives, also if it
        moves to another queue meanwhile. A glob is found by its literal beginning, so the caller looks again."""
        ...

    def load_configurations(
        self, queue: str, uuids: Sequence[str], *, event_ids: Sequence[str] = ()
    ) -> list[ConfigurationEntry | None]:
        """Configurations of one queue, and which of the ids are known to each. None for one that lives in another queue
        by now, or nowhere: whoever matched it there matches again."""
        ...

    def apply_verdicts(self, queue: str, verdicts: Sequence[Verdicts], *, now: int) -> list[Applied]:
        """Write what events did: evidence, evaluations, state and jobs of one configuration in one step. One answer per
        item, in order.

        A job whose unique key is taken is not made; its evaluation says so instead: `unique`. A waiting job
        that has expired is ended, as by `enqueue_jobs`, and its key is not taken any more.
        """
        ...

    def list_evaluations(self, uuid: str, *, limit: int) -> list[Evaluation]:
        """Evaluations of a configuration, latest first."""
        ...

    def list_validations(self, uuid: str, *, limit: int) -> list[Validation]:
        """Events that validated dependencies of a configuration, the last received first."""
        ...

    def record_events(self, records: Sequence[EventRecord], *, keep: int = MAX_EVENT_RECORDS) -> None:
        """Remember events that were taken, and forget all but the latest `keep`. One that is there already stays as it
        is, so repeating is harmless. No part of their taking: what they did is in evaluations, this is what people look
        at."""
        ...

    def list_events(self, *, limit: int, before: str | None = None) -> list[EventRecord]:
        """Events that were taken, with smaller ids than `before`, the latest first. What cannot be read is left out.
        Costs as much as it gives."""
        ...

    def read_outbox(self, queue: str, *, limit: int) -> list[Event]:
        """Ends of jobs that are yet to be taken as events, oldest first."""
        ...

    def clear_outbox(self, queue: str, events: Sequence[Event]) -> None:
        """Forget what was taken from the outbox; what is gone already does not matter."""
        ...
