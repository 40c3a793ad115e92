"""The configurations of the Redis store. They live with their queue; one index knows their names and where each
lives."""

from collections.abc import Sequence
from functools import partial

from rota.errors import Conflict
from rota.model.events.configuration import Configuration
from rota.store.contract.events import (
    ConfigurationChange,
    ConfigurationEntry,
    ConfigurationPage,
    JobRules,
    waits_for_jobs,
)
from rota.store.records.codec import decode_configuration, encode, encode_over
from rota.store.redis.keys import (
    CONFIGURATION_NAMES,
    CONFIGURATION_ORDER,
    CONFIGURATION_QUEUES,
    EVENT_QUEUES,
    JOB_RULES_VERSION,
    PENDING_JOB_RULES,
)
from rota.store.redis.link.commands import Value
from rota.store.redis.nouns.events.entries import (
    any_waits,
    as_seen_there,
    configuration_entry,
    histories_of,
    is_expected,
    places_of,
)
from rota.store.redis.nouns.events.listening import RedisListening

MOST_PER_CALL = 500
_INDEX = [CONFIGURATION_QUEUES, CONFIGURATION_NAMES, CONFIGURATION_ORDER]
_RULES = [JOB_RULES_VERSION, PENDING_JOB_RULES]
_PENDING_MS = 60_000
"""How long a configuration that was announced and did not come is reckoned with. Putting one takes milliseconds."""


class RedisConfigurations(RedisListening):
    """See `rota.store.contract.events.EventStore` for what each method promises."""

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
            self._redis.sadd(EVENT_QUEUES, queue)
            numbers = [n for n, change in enumerate(changes) if change.configuration.queue == queue]
            pairs = [(arriving[n], known[n]) for n in numbers]
            answers |= dict(zip(numbers, self._put_configurations_in(queue, pairs), strict=True))
        for number, (change, old) in enumerate(zip(changes, known, strict=True)):
            answers[number] = answers[number] and self._leave_old_queue(change, old)
            if old and not answers[number]:
                self._restore_name(change, old)
        if rules := [change.configuration.uuid for change in changes if waits_for_jobs(change.configuration)]:
            self._link.run("settle_job_rules", _RULES, rules)
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
        taken = self._link.run("name_configurations", [*_INDEX, *_RULES], args, repeats=rules_version is None)
        if taken:
            raise Conflict(f"another configuration has the name {taken.decode()!r}")
        return taken is None

    def _put_configurations_in(
        self, queue: str, pairs: Sequence[tuple[ConfigurationChange, ConfigurationEntry | None]]
    ) -> list[bool]:
        keys = self._keys_of(queue)
        args: list[Value] = []
        bodies = self._redis.hmget(keys.configurations, [change.configuration.uuid for change, _ in pairs])
        for (change, old), body in zip(pairs, bodies, strict=True):
            one, state = change.configuration, change.state
            expected = "" if change.expected is None else change.expected
            stayed = old is not None and old.configuration.queue == queue
            before, after = places_of(old.configuration) if old and stayed else set(), places_of(one)
            gone, new = before - after, after - before
            places: list[Value] = [len(gone), *gone, len(new), *new]
            args += [one.uuid, expected, encode_over(one, body), state.version, encode(state), *places]
        done = self._link.run(
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
            self._link.run("name_configurations", [*_INDEX, *_RULES], ["", uuid, one.queue, one.name, name, b""])
        else:
            self._link.run("unname_configurations", _INDEX, [uuid, name])

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
        self._link.run("unname_configurations", _INDEX, [part for pair in names for part in pair])
        unreadable = [uuid for uuid, entry in zip(uuids, found, strict=True) if entry is None]
        forgotten = {uuid for uuid in unreadable if self._delete_unreadable_configuration(uuid)}
        if forgotten or any_waits(found):
            self._change_awaited()
        return [uuid in deleted | forgotten for uuid in uuids]

    def _delete_unreadable_configuration(self, uuid: str) -> bool:
        """Forget a configuration whose record does not say what it is called and waits for; both are looked for."""
        queue = self._redis.hget(CONFIGURATION_QUEUES, uuid)
        if queue is None:
            return False
        k = self._keys_of(queue.decode())
        members = self._redis.zrange(k.dependency_index, 0, -1)
        places = [member for member in members if member.rpartition(b"\0")[2].decode() == uuid]
        keys = [k.configurations, k.configuration_states, k.dependency_index, *histories_of(k, uuid)]
        (is_deleted,) = self._link.run("delete_configurations", keys, [uuid, "", len(places), *places])
        names = [name for name, owner in self._redis.hgetall(CONFIGURATION_NAMES).items() if owner.decode() == uuid]
        for name in names:
            self._link.run("unname_configurations", _INDEX, [uuid, name])
        return bool(is_deleted)

    def _forget_configurations_in(
        self, queue: str, some: Sequence[Configuration], *, expected: int | None = None
    ) -> set[str]:
        """Which of them were there; with a version that is expected, those of another version stay."""
        k = self._keys_of(queue)
        keys = [k.configurations, k.configuration_states, k.dependency_index]
        args: list[Value] = []
        for one in some:
            keys += histories_of(k, one.uuid)
            places = places_of(one)
            args += [one.uuid, "" if expected is None else expected, len(places), *places]
        answers = self._link.run("delete_configurations", keys, args)
        return {one.uuid for one, done in zip(some, answers, strict=True) if done}

    def find_configurations(self, uuids: Sequence[str]) -> list[ConfigurationEntry | None]:
        if not uuids:
            return []
        by_queue: dict[str, list[str]] = {}
        for uuid, place in zip(uuids, self._redis.hmget(CONFIGURATION_QUEUES, list(uuids)), strict=True):
            if place is not None:
                by_queue.setdefault(place.decode(), []).append(uuid)
        found: dict[str, ConfigurationEntry] = {}
        for queue, some in by_queue.items():
            for entry in self.load_configurations(queue, some):
                if entry:
                    found[entry.configuration.uuid] = entry
        return [found.get(uuid) for uuid in uuids]

    def configuration_uuid(self, name: str) -> str | None:
        uuid = self._redis.hget(CONFIGURATION_NAMES, name)
        return uuid.decode() if uuid is not None else None

    def list_configurations(self, *, limit: int, cursor: str | None = None) -> ConfigurationPage:
        first = f"({cursor}" if cursor else "-"
        names = self._redis.zrangebylex(CONFIGURATION_ORDER, first, "+", start=0, num=limit)
        uuids = [raw.decode() for raw in self._redis.hmget(CONFIGURATION_NAMES, names) if raw] if names else []
        entries = [entry for entry in self.find_configurations(uuids) if entry]
        return ConfigurationPage(entries, names[-1].decode() if len(names) == limit else None)

    def load_configurations(
        self, queue: str, uuids: Sequence[str], *, event_ids: Sequence[str] = ()
    ) -> list[ConfigurationEntry | None]:
        k = self._keys_of(queue)
        found: list[ConfigurationEntry | None] = []
        for start in range(0, len(uuids), MOST_PER_CALL):
            part = uuids[start : start + MOST_PER_CALL]
            keys = [k.configurations, k.configuration_states, *map(k.event_ids, part)]
            raw = self._link.run("load_configurations", keys, [len(event_ids), *event_ids, *part])
            found += [self._configuration(uuid, one) if one else None for uuid, one in zip(part, raw, strict=True)]
        return found

    def _configuration(self, uuid: str, raw: list[bytes]) -> ConfigurationEntry | None:
        return self._unreadable.read("configuration", uuid, partial(configuration_entry, raw))

    def read_job_rules(self) -> JobRules:
        # What is being put is read first: whatever leaves there meanwhile is found where it lives.
        version, *pending = self._link.run("read_job_rules", _RULES, [_PENDING_MS])
        found = {one.uuid: one for one in self.listening_configurations()}
        announced = self._unreadable.read_all("announced configuration", "job rules", decode_configuration, pending)
        return JobRules(int(version), [*found.values(), *announced])
