"""Between configurations and verdicts and the arguments and answers of scripts."""

from collections.abc import Iterable
from typing import Any

from rota.model.events.configuration import Configuration, ConfigurationState
from rota.store.contract.events import (
    Applied,
    ConfigurationChange,
    ConfigurationEntry,
    Verdicts,
    index_keys,
    is_time_to_trim,
    not_made,
    waits_for_jobs,
)
from rota.store.records.codec import decode_configuration, decode_configuration_state, encode, encode_over
from rota.store.redis.keys import QueueKeys
from rota.store.redis.link.commands import Value
from rota.store.redis.nouns.jobs.entries import new_entry


def any_waits(entries: Iterable[ConfigurationEntry | None]) -> bool:
    return any(entry and waits_for_jobs(entry.configuration) for entry in entries)


def places_of(one: Configuration) -> set[str]:
    """Members of the index."""
    return {"\0".join((*key, one.uuid)) for key in index_keys(one)}


def histories_of(keys: QueueKeys, uuid: str) -> list[str]:
    return [keys.evaluations(uuid), keys.validations(uuid), keys.event_ids(uuid)]


def is_expected(change: ConfigurationChange, old: ConfigurationEntry | None) -> bool:
    """Whether a change says rightly what is there, as far as was read."""
    return change.expected == (old.state.version if old else None)


def change_entry(change: ConfigurationChange, old: ConfigurationEntry | None, stored: bytes | None) -> list[Value]:
    """A change of what is in the same queue, and is stored so."""
    one, state = change.configuration, change.state
    before, after = places_of(old.configuration) if old else set(), places_of(one)
    gone, new = before - after, after - before
    expected = "" if change.expected is None else change.expected
    entry: list[Value] = [one.uuid, expected, encode_over(one, stored), state.version, encode(state)]
    return [*entry, len(gone), *gone, len(new), *new]


def stored_state(state: ConfigurationState) -> bytes:
    return b"%d %b" % (state.version, encode(state))


def configuration_entry(raw: list[bytes]) -> ConfigurationEntry:
    known = frozenset(one.decode() for one in raw[2:])
    return ConfigurationEntry(decode_configuration(raw[0]), decode_configuration_state(raw[1]), known)


def verdicts_entry(one: Verdicts, now: int) -> list[Value]:
    numbers = {spec.id: n for n, spec in enumerate(one.specs)}
    head: list[Value] = [one.configuration.uuid, one.expected, one.state.version, encode(one.state)]
    head += [int(is_time_to_trim(one)), one.forget_before]
    rows: list[Value] = []
    for each in one.evaluations:
        number = numbers.get(each.job or "")
        rows += [encode(each), "" if number is None else encode(not_made(each)), "" if number is None else number]
    for valid in one.validations:
        rows += [valid.event.received_at, encode(valid), valid.event.id if valid.has_own_id else ""]
    jobs = [part for spec in one.specs for part in new_entry(spec, now)]
    return [*head, len(one.evaluations), len(one.validations), len(one.specs), *rows, *jobs]


def applied(one: Verdicts, raw: list[Any]) -> Applied:
    done, *refused = raw
    pairs = zip(refused[::2], refused[1::2], strict=True)
    survivors = {one.specs[number].id: survivor.decode() for number, survivor in pairs}
    return Applied(bool(done), survivors)
