"""The configurations of the Redis store, and what events did to them. They live with their queue; one index knows their
names and where each lives."""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import msgspec

from rota.errors import Conflict
from rota.model.events.configuration import Configuration
from rota.model.events.evaluation import Evaluation
from rota.model.events.event import JOB, Event
from rota.model.job_type import JobType
from rota.store.events import (
    MAX_EVALUATIONS,
    MAX_VALIDATIONS,
    Applied,
    Awaited,
    ConfigurationChange,
    ConfigurationEntry,
    ConfigurationPage,
    JobRules,
    Place,
    Validation,
    Verdicts,
    awaited_ends,
    waits_for_jobs,
)
from rota.store.records.codec import (
    decode_configuration,
    decode_evaluation,
    decode_event,
    encode,
    encode_over,
)
from rota.store.records.unreadable import SET_ASIDE_EVENT, UNREADABLE_ERRORS, UnreadableRecords, set_aside_text
from rota.store.redis.event_entries import (
    any_waits,
    applied,
    as_seen_there,
    configuration_entry,
    histories_of,
    is_expected,
    places_of,
    verdicts_entry,
)
from rota.store.redis.keys import (
    CONFIGURATION_NAMES,
    CONFIGURATION_ORDER,
    CONFIGURATION_QUEUES,
    EVENT_QUEUES,
    JOB_RULES_VERSION,
    NODE_TYPES,
    PENDING_JOB_RULES,
    SETTINGS,
    QueueKeys,
)
from rota.store.redis.scripts import Value
from rota.store.redis.stats import stats_args, stats_keys

_INDEX = [CONFIGURATION_QUEUES, CONFIGURATION_NAMES, CONFIGURATION_ORDER]
_RULES = [JOB_RULES_VERSION, PENDING_JOB_RULES]
_PENDING_MS = 60_000
"""How long a configuration that was announced and did not come is reckoned with. Putting one takes milliseconds."""
_MOST_PER_CALL = 500
_Call = tuple[str, Sequence[str], Sequence[Value]]
_Pair = tuple[ConfigurationChange, ConfigurationEntry | None]
"""A change, and what is there."""
_decode_validation = msgspec.json.Decoder(Validation).decode


class RedisEvents:
    """See `rota.store.events.EventStore` for what each method promises."""

    _run: Callable[..., Any]
    _ask: Callable[..., Any]
    _pipeline: Callable[[Sequence[_Call]], list[Any]]
    _of: Callable[[str], QueueKeys]
    _remember_queue: Callable[[str], None]
    _is_cluster: bool
    list_queues: Callable[[], list[str]]
    list_job_types: Callable[[], list[JobType]]
    definitions_version: Callable[[], int]
    _event_queues: tuple[str, ...] = ()
    _awaited = Awaited(-1)
    _read_version = -1
    """Of the definitions, when `_awaited` was read."""
    _seen_version = 0
    """Of the definitions, as this process saw it last."""
    _unreadable: UnreadableRecords

    def put_configurations(
        self, changes: Sequence[ConfigurationChange], *, rules_version: int | None = None
    ) -> list[bool]:
        known = self.find_configurations([change.configuration.uuid for change in changes])
        # What is stale already must not take a name or be looked for in another queue, not even for a moment.
        numbers = [n for n, (change, old) in enumerate(zip(changes, known, strict=True)) if is_expected(change, old)]
        done = self._put_expected([changes[n] for n in numbers], [known[n] for n in numbers], rules_version)
        answers = dict(zip(numbers, done, strict=True))
        return [answers.get(number, False) for number in range(len(changes))]

    def _put_expected(
        self,
        changes: Sequence[ConfigurationChange],
        known: Sequence[ConfigurationEntry | None],
        rules_version: int | None,
    ) -> list[bool]:
        if not changes or not self._reserve_configuration_names(changes, known, rules_version):
            return [False] * len(changes)
        answers: dict[int, bool] = {}
        arriving = [as_seen_there(change, old) for change, old in zip(changes, known, strict=True)]
        for queue in dict.fromkeys(change.configuration.queue for change in changes):
            self._remember_queue(queue)
            self._ask("sadd", EVENT_QUEUES, queue)
            numbers = [n for n, change in enumerate(changes) if change.configuration.queue == queue]
            pairs = [(arriving[n], known[n]) for n in numbers]
            answers |= dict(zip(numbers, self._put_configurations_in(queue, pairs), strict=True))
        for number, (change, old) in enumerate(zip(changes, known, strict=True)):
            answers[number] = answers[number] and self._leave_old_queue(change, old)
            if old and not answers[number]:
                self._restore_name(change, old)
        if rules := [change.configuration.uuid for change in changes if waits_for_jobs(change.configuration)]:
            self._run("settle_job_rules", _RULES, rules)
        if any(waits_for_jobs(change.configuration) for change in changes) or any_waits(known):
            self._change_awaited()
        return [answers[number] for number in range(len(changes))]

    def _reserve_configuration_names(
        self,
        changes: Sequence[ConfigurationChange],
        known: Sequence[ConfigurationEntry | None],
        rules_version: int | None,
    ) -> bool:
        """False if the job rules are of another version."""
        args: list[Value] = ["" if rules_version is None else rules_version]
        for change, old in zip(changes, known, strict=True):
            one = change.configuration
            rule = encode(one) if waits_for_jobs(one) else b""
            args += [one.uuid, one.queue, one.name, old.configuration.name if old else "", rule]
        # Repeated, it would find the version that it wrote itself, and take it for somebody else's.
        taken = self._run("name_configurations", [*_INDEX, *_RULES], args, repeats=rules_version is None)
        if taken:
            raise Conflict(f"another configuration has the name {taken.decode()!r}")
        return taken is None

    def _put_configurations_in(
        self, queue: str, pairs: Sequence[tuple[ConfigurationChange, ConfigurationEntry | None]]
    ) -> list[bool]:
        keys = self._of(queue)
        args: list[Value] = []
        bodies = self._ask("hmget", keys.configurations, [change.configuration.uuid for change, _ in pairs])
        for (change, old), body in zip(pairs, bodies, strict=True):
            one, state = change.configuration, change.state
            expected = "" if change.expected is None else change.expected
            stayed = old is not None and old.configuration.queue == queue
            before, after = places_of(old.configuration) if old and stayed else set(), places_of(one)
            gone, new = before - after, after - before
            places: list[Value] = [len(gone), *gone, len(new), *new]
            args += [one.uuid, expected, encode_over(one, body), state.version, encode(state), *places]
        done = self._run(
            "put_configurations", [keys.configurations, keys.configuration_states, keys.dependency_index], args
        )
        return [bool(one) for one in done]

    def _leave_old_queue(self, change: ConfigurationChange, old: ConfigurationEntry | None) -> bool:
        """A configuration whose job type moved to another queue moves along. Not one step: in between it is in both,
        and an event that comes then may make a job in each. False if an event came to it where it was: it stays."""
        if old is None or old.configuration.queue == change.configuration.queue:
            return True
        if self._forget_configurations_in(old.configuration.queue, [old.configuration], expected=change.expected):
            return True
        self._forget_configurations_in(change.configuration.queue, [change.configuration])
        return False

    def _restore_name(self, change: ConfigurationChange, old: ConfigurationEntry) -> None:
        """Somebody was faster, after the name and the queue of a change had been written down."""
        uuid, name = change.configuration.uuid, change.configuration.name
        there = self.load_configurations(old.configuration.queue, [uuid])[0]
        if there:
            one = there.configuration
            self._run("name_configurations", [*_INDEX, *_RULES], ["", uuid, one.queue, one.name, name, b""])
        else:
            self._run("unname_configurations", _INDEX, [uuid, name])

    def delete_configurations(self, uuids: Sequence[str]) -> list[bool]:
        found = self.find_configurations(uuids)
        by_queue: dict[str, list[Configuration]] = {}
        for entry in found:
            if entry:
                by_queue.setdefault(entry.configuration.queue, []).append(entry.configuration)
        deleted: set[str] = set()
        for queue, some in by_queue.items():
            deleted |= self._forget_configurations_in(queue, some)
        names = [(one.configuration.uuid, one.configuration.name) for one in found if one]
        self._run("unname_configurations", _INDEX, [part for pair in names for part in pair])
        unreadable = [uuid for uuid, entry in zip(uuids, found, strict=True) if entry is None]
        forgotten = {uuid for uuid in unreadable if self._delete_unreadable_configuration(uuid)}
        if forgotten or any_waits(found):
            self._change_awaited()
        return [uuid in deleted | forgotten for uuid in uuids]

    def _delete_unreadable_configuration(self, uuid: str) -> bool:
        """Forget a configuration whose record does not say what it is called and waits for; both are looked for."""
        queue = self._ask("hget", CONFIGURATION_QUEUES, uuid)
        if queue is None:
            return False
        k = self._of(queue.decode())
        members = self._ask("zrange", k.dependency_index, 0, -1)
        places = [member for member in members if member.rpartition(b"\0")[2].decode() == uuid]
        keys = [k.configurations, k.configuration_states, k.dependency_index, *histories_of(k, uuid)]
        (is_deleted,) = self._run("delete_configurations", keys, [uuid, "", len(places), *places])
        names = [name for name, owner in self._ask("hgetall", CONFIGURATION_NAMES).items() if owner.decode() == uuid]
        for name in names:
            self._run("unname_configurations", _INDEX, [uuid, name])
        return bool(is_deleted)

    def _forget_configurations_in(
        self, queue: str, some: Sequence[Configuration], *, expected: int | None = None
    ) -> set[str]:
        """Which of them were there; with a version that is expected, those of another version stay."""
        k = self._of(queue)
        keys = [k.configurations, k.configuration_states, k.dependency_index]
        args: list[Value] = []
        for one in some:
            keys += histories_of(k, one.uuid)
            places = places_of(one)
            args += [one.uuid, "" if expected is None else expected, len(places), *places]
        answers = self._run("delete_configurations", keys, args)
        return {one.uuid for one, done in zip(some, answers, strict=True) if done}

    def find_configurations(self, uuids: Sequence[str]) -> list[ConfigurationEntry | None]:
        if not uuids:
            return []
        by_queue: dict[str, list[str]] = {}
        for uuid, queue in zip(uuids, self._ask("hmget", CONFIGURATION_QUEUES, list(uuids)), strict=True):
            if queue is not None:
                by_queue.setdefault(queue.decode(), []).append(uuid)
        found: dict[str, ConfigurationEntry] = {}
        for queue, some in by_queue.items():
            for entry in self.load_configurations(queue, some):
                if entry:
                    found[entry.configuration.uuid] = entry
        return [found.get(uuid) for uuid in uuids]

    def configuration_uuid(self, name: str) -> str | None:
        uuid = self._ask("hget", CONFIGURATION_NAMES, name)
        return uuid.decode() if uuid is not None else None

    def list_configurations(self, *, limit: int, cursor: str | None = None) -> ConfigurationPage:
        first = f"({cursor}" if cursor else "-"
        names = self._ask("zrangebylex", CONFIGURATION_ORDER, first, "+", start=0, num=limit)
        uuids = [raw.decode() for raw in self._ask("hmget", CONFIGURATION_NAMES, names) if raw] if names else []
        entries = [entry for entry in self.find_configurations(uuids) if entry]
        return ConfigurationPage(entries, names[-1].decode() if len(names) == limit else None)

    def listening_configurations(self) -> list[Configuration]:
        found: list[Configuration] = []
        for queue in self._read_event_queues():
            keys = self._of(queue)
            members = self._ask("zrangebylex", keys.dependency_index, f"[{JOB}\0", f"({JOB}\1")
            uuids = list(dict.fromkeys(member.rpartition(b"\0")[2] for member in members))
            bodies = self._ask("hmget", keys.configurations, uuids) if uuids else []
            records = [body for body in bodies if body]
            found += self._unreadable.read_all("listening configuration of queue", queue, decode_configuration, records)
        return sorted(found, key=lambda one: one.name)

    def read_job_rules(self) -> JobRules:
        # What is being put is read first: whatever leaves there meanwhile is found where it lives.
        version, *pending = self._run("read_job_rules", _RULES, [_PENDING_MS])
        found = {one.uuid: one for one in self.listening_configurations()}
        announced = self._unreadable.read_all("announced configuration", "job rules", decode_configuration, pending)
        return JobRules(int(version), [*found.values(), *announced])

    def _change_awaited(self) -> None:
        """Other ends are waited for than before, and every queue has to know before the change is acknowledged.

        What is defined lives apart from the queues on a cluster, and asking for it with every end would cost a round
        trip. So the queues remember which version must be known, and the script that ends jobs refuses to do so for a
        caller who knows an older one.
        """
        version = int(self._ask("incr", NODE_TYPES.version))
        for queue in self.list_queues():
            self._run("raise_awaited_since", [self._of(queue).awaited_since], [version])

    def _awaited_ends(self) -> Awaited:
        """As far as known. A version that this process has seen since is reason to look again."""
        if self._read_version != self._seen_version:
            self._read_awaited()
        return self._awaited

    def _read_awaited(self, since: int = 0) -> None:
        """Learn which ends are waited for, having heard that it changed with the version `since`. After a fail-over the
        definitions may be of an older one than that, for ever."""
        version = self.definitions_version()  # first, so that what is read is at least as new
        listening, job_types = self.listening_configurations(), self.list_job_types()
        self._awaited = awaited_ends(max(version, since), listening, job_types)
        self._read_version = version

    def match_events(self, events: Sequence[Event]) -> list[list[Place]]:
        places: list[list[Place]] = [[] for _ in events]
        for start in range(0, len(events), _MOST_PER_CALL):
            part = events[start : start + _MOST_PER_CALL]
            args = [word for event in part for word in (event.type, event.resource)]
            for queue, answer in self._match_everywhere(args):
                for number, uuids in enumerate(answer, start):
                    places[number] += [Place(queue, raw.decode()) for raw in dict.fromkeys(uuids)]
        return places

    def _match_everywhere(self, args: Sequence[Value]) -> Iterable[tuple[str, list[list[bytes]]]]:
        """Ask every queue that has configurations. Those known from the last time are asked at once, together with the
        question whether there are more."""
        asked = () if self._is_cluster else self._event_queues
        calls: list[_Call] = [("match_events", [self._of(queue).dependency_index], args) for queue in asked]
        *answers, queues = self._pipeline([*calls, ("event_queues", [EVENT_QUEUES], [])]) if asked else [None]
        self._event_queues = self._read_event_queues() if queues is None else _decoded(queues)
        yield from zip(asked, answers, strict=True)
        for queue in self._event_queues:
            if queue not in asked:
                yield queue, self._run("match_events", [self._of(queue).dependency_index], args)

    def _read_event_queues(self) -> tuple[str, ...]:
        return _decoded(self._run("event_queues", [EVENT_QUEUES], []))

    def load_configurations(
        self, queue: str, uuids: Sequence[str], *, event_ids: Sequence[str] = ()
    ) -> list[ConfigurationEntry | None]:
        k = self._of(queue)
        found: list[ConfigurationEntry | None] = []
        for start in range(0, len(uuids), _MOST_PER_CALL):
            part = uuids[start : start + _MOST_PER_CALL]
            keys = [k.configurations, k.configuration_states, *map(k.event_ids, part)]
            raw = self._run("load_configurations", keys, [len(event_ids), *event_ids, *part])
            found += [self._configuration(uuid, one) if one else None for uuid, one in zip(part, raw, strict=True)]
        return found

    def _configuration(self, uuid: str, raw: list[bytes]) -> ConfigurationEntry | None:
        return self._unreadable.read("configuration", uuid, partial(configuration_entry, raw))

    def apply_verdicts(self, queue: str, verdicts: Sequence[Verdicts], *, now: int) -> list[Applied]:
        answers: list[Applied] = []
        for start in range(0, len(verdicts), _MOST_PER_CALL):
            answers += self._apply(queue, verdicts[start : start + _MOST_PER_CALL], now)
        return answers

    def _apply(self, queue: str, verdicts: Sequence[Verdicts], now: int) -> list[Applied]:
        k = self._of(queue)
        keys = [k.configuration_states, k.jobs, k.ready, k.delayed, k.unique, k.marks, k.wake, *stats_keys(k, now)]
        args: list[Value] = [MAX_EVALUATIONS, MAX_VALIDATIONS, *stats_args(now)]
        for one in verdicts:
            keys += histories_of(k, one.configuration.uuid)
            args += verdicts_entry(one, now)
        # Repeated, it would find the version that it wrote itself, and take it for somebody else's.
        raw = self._run("apply_verdicts", keys, args, repeats=False)
        return [applied(one, answer) for one, answer in zip(verdicts, raw, strict=True)]

    def list_evaluations(self, uuid: str, *, limit: int) -> list[Evaluation]:
        queue = self._ask("hget", CONFIGURATION_QUEUES, uuid)
        if queue is None or limit < 1:
            return []
        rows = self._ask("lrange", self._of(queue.decode()).evaluations(uuid), 0, limit - 1)
        return self._unreadable.read_all("evaluation of configuration", uuid, decode_evaluation, rows)

    def list_validations(self, uuid: str, *, limit: int) -> list[Validation]:
        queue = self._ask("hget", CONFIGURATION_QUEUES, uuid)
        if queue is None or limit < 1:
            return []
        rows = self._ask("zrevrange", self._of(queue.decode()).validations(uuid), 0, limit - 1)
        return self._unreadable.read_all("validation of configuration", uuid, _decode_validation, rows)

    def read_outbox(self, queue: str, *, limit: int) -> list[Event]:
        records = self._ask("zrange", self._of(queue).outbox, 0, limit - 1)
        try:
            return [decode_event(raw) for raw in records]
        except UNREADABLE_ERRORS:
            return self._without_unreadable(queue, records)

    def _without_unreadable(self, queue: str, records: list[bytes]) -> list[Event]:
        """The events among some records. What is none is set aside, or it would be in the way for ever."""
        events: list[Event] = []
        for raw in records:
            name = hashlib.sha256(raw).hexdigest()[:16]
            event = self._unreadable.read("event", name, partial(decode_event, raw))
            if event:
                events.append(event)
            else:
                self._ask("hset", SETTINGS, SET_ASIDE_EVENT + name, set_aside_text(raw))
                self._ask("zrem", self._of(queue).outbox, raw)
        return events

    def clear_outbox(self, queue: str, events: Sequence[Event]) -> None:
        if not events:
            return
        outbox = self._of(queue).outbox
        if self._ask("zrem", outbox, *map(encode, events)) < len(events):
            # Somebody else took them, or a newer version wrote them with more than is known here.
            ids = {event.id for event in events}
            left = [raw for raw in self._ask("zrange", outbox, 0, len(events) - 1) if _event_id(raw) in ids]
            if left:
                self._ask("zrem", outbox, *left)


def _event_id(raw: bytes) -> str | None:
    try:
        return decode_event(raw).id
    except UNREADABLE_ERRORS:
        return None


def _decoded(raw: Iterable[bytes]) -> tuple[str, ...]:
    return tuple(sorted(one.decode() for one in raw))
