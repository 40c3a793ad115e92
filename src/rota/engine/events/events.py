"""The intake of events: finds the configurations that wait for them, judges, and has the verdicts written.

Any number of processes may do this at once. Each judges upon the state that it read; the store writes a verdict only if
that state is still the one there is, and otherwise it is judged again. So the answers are those of one process that
takes the events one after the other.
"""

from collections.abc import Iterator, Sequence

from msgspec import Struct, structs

from rota.clock import Clock
from rota.engine.definitions.definitions import Definitions
from rota.engine.definitions.moves import move_configuration
from rota.engine.events.records import Meanings, record
from rota.engine.events.request import BadEvent
from rota.engine.jobs.spec import make_spec
from rota.engine.observation.happenings import EventsJudged
from rota.engine.observation.observers import Observers
from rota.errors import Conflict, NotFound
from rota.model.events.configuration import Configuration, Dependency
from rota.model.events.evaluation import Evaluation, Judgement, Verdict, as_seen_by, evaluate
from rota.model.events.event import Event, ref_of, shown_time
from rota.model.ids import new_id
from rota.model.job import Cause, JobSpec
from rota.model.job_type import JobType
from rota.store.contract.events import Applied, ConfigurationEntry, Place, Validation, Verdicts
from rota.store.contract.store import Store
from rota.store.records.unreadable import UNREADABLE

RETENTION_MS = 30 * 24 * 3600 * 1000
"""Events that validated something are kept for this long, and longer only while they are valid."""
_PER_ROUND = 500
_IGNORED = frozenset({Verdict.OLDER, Verdict.DUPLICATE})
_TRIES = 1_000
"""Each round of tries moves somebody on, so even a crowd is through long before."""
_MOVES = 5
"""An event follows a configuration that moves so often while it is judged. One that cannot be read is never there."""


class Validated(Struct, frozen=True):
    """An event, by its number, validated a dependency."""

    event: int
    configuration: str
    dependency: Dependency


class Triggered(Struct, frozen=True):
    """An event, by its number, made a job."""

    event: int
    configuration: str
    job: str


class Ignored(Struct, frozen=True):
    """An event, by its number, hit a configuration and did not count there."""

    event: int
    configuration: str
    verdict: Verdict
    last_execution: int | None


class EventAnswer(Struct, frozen=True):
    """What events did, in the order of the events."""

    validated: list[Validated]
    triggered: list[Triggered]
    ignored: list[Ignored]
    matched: set[int]
    """The numbers of the events that hit any configuration."""
    refused: list[BadEvent] = []
    """Those that a server refused, where one took the others; what is handed in here is good."""

    @classmethod
    def empty(cls) -> "EventAnswer":
        return cls([], [], [], set())


class Preview(Struct, frozen=True):
    """What an event would mean for a configuration."""

    configuration: str
    evaluation: Evaluation


class Events:
    """Takes events."""

    def __init__(
        self,
        store: Store,
        definitions: Definitions,
        clock: Clock,
        *,
        retention_ms: int = RETENTION_MS,
        observers: Observers | None = None,
    ) -> None:
        self._store = store
        self._observers = observers or Observers()
        self._definitions = definitions
        self._clock = clock
        self._retention_ms = retention_ms

    def post(self, events: Sequence[Event]) -> EventAnswer:
        """Take events, in this order, some hundreds at a time. What they do to one configuration then is one step."""
        answer, meanings = EventAnswer.empty(), Meanings()
        # Of several with one id the first counts.
        number_of = {event.id: n for n, event in reversed(list(enumerate(events)))}
        for start in range(0, len(events), _PER_ROUND):
            self._take(events[start : start + _PER_ROUND], number_of, answer, meanings)
        record(self._store, meanings.records(events, self._clock.now()))
        answer.matched.update(n for n, event in enumerate(events) if number_of[event.id] in answer.matched)
        answer.validated.sort(key=lambda one: one.event)
        answer.triggered.sort(key=lambda one: one.event)
        return answer

    def _take(
        self, events: Sequence[Event], number_of: dict[str, int], answer: EventAnswer, meanings: Meanings
    ) -> None:
        gone: set[str] | None = None
        for _ in range(_MOVES):
            gone = self._take_once(events, gone, number_of, answer, meanings)
            if not gone:
                return

    def _take_once(
        self,
        events: Sequence[Event],
        only: set[str] | None,
        number_of: dict[str, int],
        answer: EventAnswer,
        meanings: Meanings,
    ) -> set[str]:
        """Find who waits for events, or which of those that were not where they had been found, and settle it. Returns
        the configurations that are elsewhere by now, or nowhere."""
        gone: set[str] = set()
        for queue, numbers in _by_queue(self._store.match_events(events)).items():
            uuids = [uuid for uuid in numbers if only is None or uuid in only]
            for start in range(0, len(uuids), _PER_ROUND):
                part = {uuid: [events[n] for n in numbers[uuid]] for uuid in uuids[start : start + _PER_ROUND]}
                gone |= self._settle(queue, part, number_of, answer, meanings)
        return gone

    def preview(self, event: Event, configuration: str | None = None) -> list[Preview]:
        """What would happen if this event came now; nothing is stored. `configuration` is a uuid."""
        places = self._store.match_events([event])[0]
        found: list[Preview] = []
        for place in places:
            if configuration in (None, place.uuid):
                ids = [event.id] if event.has_own_id else []
                for entry in self._store.load_configurations(place.queue, [place.uuid], event_ids=ids):
                    judgements = self._judged(entry, [event]) if entry else []
                    found += [Preview(entry.configuration.name, one.evaluation) for _, one in judgements if entry]
        return found

    def _settle(
        self,
        queue: str,
        waiting: dict[str, list[Event]],
        numbers: dict[str, int],
        answer: EventAnswer,
        meanings: Meanings,
    ) -> set[str]:
        """Judge and write until every configuration of this part has its verdicts. Returns those that left the queue
        before."""
        gone: set[str] = set()
        for _ in range(_TRIES):
            ids = list({event.id for events in waiting.values() for event in events if event.has_own_id})
            there = self._at_home(self._store.load_configurations(queue, list(waiting), event_ids=ids))
            gone |= waiting.keys() - {entry.configuration.uuid for entry in there}
            verdicts = [one for entry in there if (one := self._verdicts(entry, waiting))]
            if not verdicts:
                return gone
            applied = self._store.apply_verdicts(queue, verdicts, now=self._clock.now())
            for one, done in zip(verdicts, applied, strict=True):
                if done.done:
                    _add_to_answer(one, done, numbers, answer)
                    meanings.add(one, done)
                    self._observers.tell(EventsJudged(one.configuration.name, one.evaluations, done.survivors))
            left = {one.configuration.uuid for one, done in zip(verdicts, applied, strict=True) if not done.done}
            waiting = {uuid: events for uuid, events in waiting.items() if uuid in left}
            if not waiting:
                return gone
        raise Conflict(f"{len(waiting)} configurations change too often; try again")

    def _at_home(self, entries: Sequence[ConfigurationEntry | None]) -> list[ConfigurationEntry]:
        """Those that are in the queue of their job type. Others are there because a move was cut short: they go where
        their jobs belong."""
        return [entry for entry in entries if entry and not self._bring_home(entry)]

    def _bring_home(self, entry: ConfigurationEntry) -> bool:
        """False if it is at home."""
        one = entry.configuration
        if self._home_of(one) == one.queue:
            return False
        self._definitions.refresh()  # perhaps it is only our view that is old
        home = self._home_of(one)
        move_configuration(self._store, entry, home)
        return home != one.queue

    def _home_of(self, configuration: Configuration) -> str:
        """The queue in which its jobs are to wait. Where nobody can tell, it stays."""
        try:
            job_type = self._definitions.job_type(configuration.job_type)
            home = self._definitions.node_type(job_type.node_type).uuid
        except NotFound:
            return configuration.queue
        return configuration.queue if job_type.managed_by == UNREADABLE else home

    def _verdicts(self, entry: ConfigurationEntry, waiting: dict[str, list[Event]]) -> Verdicts | None:
        """What the events mean for a configuration, one after the other; nothing if none of them hits it after all."""
        configuration, now = entry.configuration, self._clock.now()
        judged = list(self._judged(entry, waiting[configuration.uuid]))
        if not judged:
            return None
        evaluations: list[Evaluation] = []
        specs: list[JobSpec] = []
        for event, judgement in judged:
            evaluation = judgement.evaluation
            if evaluation.verdict is Verdict.TRIGGERED:
                specs.append(self._make_spec(configuration, event, evaluation.at, now))
                evaluation = structs.replace(evaluation, job=specs[-1].id)
            evaluations.append(evaluation)
        validations = [Validation(ref_of(event), n, event.has_own_id) for event, one in judged for n in one.hits]
        return Verdicts(
            configuration,
            entry.state.version,
            judged[-1][1].state,
            tuple(evaluations),
            tuple(validations),
            tuple(specs),
            self._forget_before(configuration, now),
        )

    def _judged(self, entry: ConfigurationEntry, events: Sequence[Event]) -> Iterator[tuple[Event, Judgement]]:
        state, known = entry.state, set(entry.known_events)
        for event in events:
            if entry.configuration.hits(event):
                seen = as_seen_by(state, event)
                judgement = evaluate(entry.configuration, state, seen, is_known=seen.has_own_id and seen.id in known)
                state = judgement.state
                if judgement.hits:
                    known.add(seen.id)
                yield seen, judgement

    def _make_spec(self, configuration: Configuration, event: Event, met_at: int, now: int) -> JobSpec:
        """The job of one trigger. A job type that is gone makes a job all the same: it fails, where people see it."""
        try:
            job_type = self._definitions.job_type(configuration.job_type)
        except NotFound:
            job_type = JobType(uuid=configuration.job_type, name="", executor="")
        arguments = _log_arguments(configuration, event) if configuration.logs_only else configuration.arguments
        return make_spec(
            job_type,
            id=new_id(now),
            queue=configuration.queue,
            enqueued_at=now,
            arguments=arguments,
            priority=configuration.priority,
            cause=Cause("event", configuration.uuid, met_at // 1_000),
        )

    def _forget_before(self, configuration: Configuration, now: int) -> int:
        longest_life_ms = max(one.life_s for one in configuration.dependencies) * 1_000
        return max(now - max(self._retention_ms, longest_life_ms), 0)


def _by_queue(matches: list[list[Place]]) -> dict[str, dict[str, list[int]]]:
    """Queue to configuration to the numbers of the events that may hit it."""
    found: dict[str, dict[str, list[int]]] = {}
    for number, places in enumerate(matches):
        for place in places:
            found.setdefault(place.queue, {}).setdefault(place.uuid, []).append(number)
    return found


def _add_to_answer(one: Verdicts, applied: Applied, numbers: dict[str, int], answer: EventAnswer) -> None:
    name = one.configuration.name
    for valid in one.validations:
        dependency = one.configuration.dependencies[valid.dependency]
        answer.validated.append(Validated(numbers[valid.event.id], name, dependency))
    for evaluation in one.evaluations:
        number = numbers[evaluation.event.id]
        answer.matched.add(number)
        if evaluation.job is not None:
            job = applied.survivors.get(evaluation.job, evaluation.job)
            answer.triggered.append(Triggered(number, name, job))
        elif evaluation.verdict in _IGNORED:
            answer.ignored.append(Ignored(number, name, evaluation.verdict, evaluation.last_execution))


def _log_arguments(configuration: Configuration, event: Event) -> dict[str, object]:
    """What the line says of a configuration that names no job."""
    told = {"type": event.type, "resourceId": event.resource, "timestamp": shown_time(event.time)}
    return {"configuration": configuration.name, "event": told}
