"""The configurations of the Redis store. They live with their queue; one index knows their names and where each
lives."""

from collections.abc import Sequence
from functools import partial

from rota.store.contract.events import ConfigurationChange, ConfigurationEntry, ConfigurationPage, waits_for_jobs
from rota.store.records.codec import encode
from rota.store.redis.keys import (
    CONFIGURATION_ARRIVALS,
    CONFIGURATION_NAMES,
    CONFIGURATION_ORDER,
    CONFIGURATION_QUEUES,
    CONFIGURATION_RESERVATIONS,
)
from rota.store.redis.link.commands import Value
from rota.store.redis.nouns.events.entries import any_waits, histories_of, is_expected
from rota.store.redis.nouns.events.listening import JOB_RULES
from rota.store.redis.nouns.events.places import RedisPlaces
from rota.store.redis.nouns.reservations import (
    NameIndex,
    confirm_names,
    find_named,
    free_name,
    name_is_taken,
    new_token,
    refuse_repeated,
)

_INDEX = NameIndex(CONFIGURATION_QUEUES, CONFIGURATION_NAMES, CONFIGURATION_ORDER, CONFIGURATION_RESERVATIONS)
_NAMED = [CONFIGURATION_QUEUES, CONFIGURATION_NAMES, CONFIGURATION_ORDER]
_NAMING = [*_NAMED, *JOB_RULES, CONFIGURATION_RESERVATIONS]
_UNNAMING = [*_NAMED, CONFIGURATION_ARRIVALS, CONFIGURATION_RESERVATIONS]
_LOOKS = 10
"""A configuration is looked for again while it moves."""


class RedisConfigurations(RedisPlaces):
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
        token = new_token()
        if not changes or not self._reserve_configuration_names(changes, known, rules_version, token):
            return [False] * len(changes)
        waiting = [change.configuration.uuid for change in changes if waits_for_jobs(change.configuration)]
        if waiting:
            self._change_awaited()  # first, so that one that is there hears of every end, whatever happens here
        done = self._put_at_home(changes, known)
        results = list(zip(changes, known, done, strict=True))
        self._confirm_new_configurations([change for change, old, is_done in results if is_done and old is None])
        for change, old, is_done in results:
            if old and is_done and old.configuration.queue != change.configuration.queue:
                self._finish_move(old.configuration.queue, ConfigurationEntry(change.configuration, change.state))
            elif old and not is_done:
                self._restore_name(change, old)
        if waiting:
            self._link.run("settle_job_rules", JOB_RULES, waiting)
        if waiting or any_waits(known):
            self._change_awaited()
        return done

    def _put_at_home(
        self, changes: Sequence[ConfigurationChange], known: Sequence[ConfigurationEntry | None]
    ) -> list[bool]:
        """Each is put where it lives, also one that is to move: that it shall is what its record says then."""
        homes = [(old or change).configuration.queue for change, old in zip(changes, known, strict=True)]
        answers: dict[int, bool] = {}
        for queue in dict.fromkeys(homes):
            numbers = [n for n, home in enumerate(homes) if home == queue]
            pairs = [(changes[n], known[n]) for n in numbers]
            answers |= dict(zip(numbers, self._put_configurations_in(queue, pairs), strict=True))
        return [answers[number] for number in range(len(changes))]

    def _reserve_configuration_names(
        self,
        changes: Sequence[ConfigurationChange],
        known: Sequence[ConfigurationEntry | None],
        rules_version: int | None,
        token: str,
    ) -> bool:
        """False if the job rules are of another version."""
        args: list[Value] = ["" if rules_version is None else rules_version, token]
        for change, old in zip(changes, known, strict=True):
            one = change.configuration
            rule = encode(one) if waits_for_jobs(one) else b""
            queue, name = ("", old.configuration.name) if old else (one.queue, "")
            args += [one.uuid, queue, one.name, name, rule]
        refuse_repeated("configuration", ((one.configuration.name, one.configuration.uuid) for one in changes))
        # Repeated, it would find the version that it wrote itself, and take it for somebody else's.
        name_all = partial(self._link.run, "name_configurations", _NAMING, args, repeats=rules_version is None)
        taken = name_all()
        while taken and self._free_left_over(taken.decode()):
            taken = name_all()
        if taken:
            raise name_is_taken("configuration", taken.decode())
        return taken is None

    def _free_left_over(self, name: str) -> bool:
        """Free a name whose configuration never came, because the process that reserved it died. False if it is there;
        else it is worth another try."""
        named = find_named(self._link, _INDEX, name)
        queue = self._queues_of([named.uuid]).get(named.uuid) if named else None
        if named is None or queue is None:
            return True
        # One that cannot be read is there, too.
        records = self._keys_of(queue).configurations
        if self.find_configurations([named.uuid])[0] or self._redis.hexists(records, named.uuid):
            return False
        if named.token:
            free_name(self._link, _INDEX, named, is_gone=True)
        else:
            # A deletion was cut short. It is freed with the next try, unless it is reserved anew meanwhile.
            self._redis.hsetnx(CONFIGURATION_RESERVATIONS, name, new_token())
        return True

    def _confirm_new_configurations(self, changes: Sequence[ConfigurationChange]) -> None:
        """New configurations are written. One that somebody took for one that never comes is made anew; `Conflict` if
        its name belongs to another one by now. One that is not there any more was deleted."""
        names = [(change.configuration.name, change.configuration.uuid) for change in changes]
        done = confirm_names(self._link, _INDEX, names)
        for change in (change for change, is_ours in zip(changes, done, strict=True) if not is_ours):
            if self._forget_configurations_in(change.configuration.queue, [change.configuration]):
                self._put_expected([change], [None], None)

    def _restore_name(self, change: ConfigurationChange, old: ConfigurationEntry) -> None:
        """Somebody was faster, after the name of a change had been written down."""
        uuid, name = change.configuration.uuid, change.configuration.name
        there = self.find_configurations([uuid])[0]
        if there:
            self._link.run("name_configurations", _NAMING, ["", "", uuid, "", there.configuration.name, name, b""])
        else:
            self._link.run("unname_configurations", _UNNAMING, [uuid, name])

    def delete_configurations(self, uuids: Sequence[str]) -> list[bool]:
        found = self.find_configurations(uuids)
        some = [entry.configuration for entry in found if entry]
        # First from the index: what is not known there does not count any more, whatever happens here.
        names = [part for one in some for part in (one.uuid, one.name)]
        answers, was_repeated = self._link.run_and_tell("unname_configurations", _UNNAMING, names)
        # They were there a moment ago: what a repeated call finds gone, it has deleted itself.
        deleted = {one.uuid for one, done in zip(some, answers, strict=True) if done or was_repeated}
        for queue in dict.fromkeys(one.queue for one in some):
            self._forget_configurations_in(queue, [one for one in some if one.queue == queue])
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
            self._link.run("unname_configurations", _UNNAMING, [uuid, name])
        return bool(is_deleted)

    def find_configurations(self, uuids: Sequence[str]) -> list[ConfigurationEntry | None]:
        found: dict[str, ConfigurationEntry] = {}
        looked: dict[str, str] = {}
        for _ in range(_LOOKS):
            homes = self._queues_of([uuid for uuid in uuids if uuid not in found])
            moved = {uuid: queue for uuid, queue in homes.items() if looked.get(uuid) != queue}
            for queue in dict.fromkeys(moved.values()):
                some = self.load_configurations(queue, [uuid for uuid in moved if moved[uuid] == queue])
                found |= {entry.configuration.uuid: entry for entry in some if entry}
            if not moved:
                break
            looked = homes
        return [found.get(uuid) for uuid in uuids]

    def configuration_uuid(self, name: str) -> str | None:
        uuid = self._redis.hget(CONFIGURATION_NAMES, name)
        return uuid.decode() if uuid is not None and self._redis.hexists(CONFIGURATION_QUEUES, uuid) else None

    def list_configurations(self, *, limit: int, cursor: str | None = None) -> ConfigurationPage:
        first = f"({cursor}" if cursor else "-"
        names = self._redis.zrangebylex(CONFIGURATION_ORDER, first, "+", start=0, num=limit)
        uuids = [raw.decode() for raw in self._redis.hmget(CONFIGURATION_NAMES, names) if raw] if names else []
        entries = [entry for entry in self.find_configurations(uuids) if entry]
        return ConfigurationPage(entries, names[-1].decode() if len(names) == limit else None)

    def load_configurations(
        self, queue: str, uuids: Sequence[str], *, event_ids: Sequence[str] = ()
    ) -> list[ConfigurationEntry | None]:
        found = self._read_configurations_in(queue, uuids, event_ids)
        for number, entry in enumerate(found):
            if entry and entry.configuration.queue != queue:
                self._finish_move(queue, entry)
                found[number] = None
        return found
