"""The audit log: appended to, read from its end, and kept within bounds."""

from functools import partial
from itertools import count

import pytest

from rota.model.access.audit import AuditEntry
from rota.model.ids import numbered_id
from rota.store import Store
from rota.store.sqlite.store import SqliteStore
from tests.conftest import OpenStore
from tests.contract.steps import run_with

NOW = 1_760_000_000_000


def entry(number: int, *, time: int = NOW, **more: object) -> AuditEntry:
    return AuditEntry(
        id=numbered_id(time, "audit", number),
        time=time,
        who="shop",
        origin="api 10.0.0.5",
        action="create",
        kind="job type",
        name=f"t{number}",
        after={"name": "é \x00 \n"},
        **more,  # type: ignore[arg-type]
    )


def test_entries_are_read_from_the_latest_on(store: Store) -> None:
    entries = [entry(number) for number in range(5)]

    store.append_audit(entries[2:])
    store.append_audit(entries[:2])

    assert store.list_audit(limit=10) == entries[::-1]
    assert store.list_audit(limit=2) == [entries[4], entries[3]]
    assert store.list_audit(limit=2, before=entries[3].id) == [entries[2], entries[1]]
    assert store.list_audit(limit=2, before=entries[0].id) == []


def test_an_entry_is_never_changed(store: Store) -> None:
    store.append_audit([entry(1)])

    store.append_audit([entry(1, key="another"), entry(2)])

    assert store.list_audit(limit=10) == [entry(2), entry(1)]


def test_nothing_was_changed_yet(store: Store) -> None:
    store.append_audit([])

    assert store.list_audit(limit=10) == []
    assert store.trim_audit(older_than=NOW, keep=0, limit=10) == 0


def test_old_entries_are_forgotten(store: Store) -> None:
    old = [entry(number, time=NOW - 1_000) for number in range(3)]
    new = [entry(number, time=NOW) for number in range(3)]
    store.append_audit(old + new)

    assert store.trim_audit(older_than=NOW, keep=100, limit=2) == 2
    assert store.trim_audit(older_than=NOW, keep=100, limit=2) == 1
    assert store.trim_audit(older_than=NOW, keep=100, limit=2) == 0
    assert store.list_audit(limit=10) == new[::-1]


@pytest.mark.parametrize(("keep", "limit", "gone"), [(4, 10, 1), (2, 10, 3), (2, 2, 2), (0, 10, 5), (9, 10, 0)])
def test_the_oldest_are_forgotten_when_there_are_too_many(
    store: Store, monkeypatch: pytest.MonkeyPatch, keep: int, limit: int, gone: int
) -> None:
    monkeypatch.setattr("rota.store.sqlite.nouns.audit._COUNTED_AT_A_TIME", 3)
    entries = [entry(number) for number in range(5)]
    store.append_audit(entries)

    assert store.trim_audit(older_than=0, keep=keep, limit=limit) == gone
    assert store.list_audit(limit=10) == entries[gone:][::-1]


def test_nodes_that_forget_the_oldest_at_once_forget_no_more_than_is_too_many(
    store: Store, open_again: OpenStore
) -> None:
    other = open_again()
    for number in count():
        entries = [entry(one, time=NOW + 10 * number + one) for one in range(6)]
        store.append_audit(entries)
        trim = partial(store.trim_audit, older_than=0, keep=4, limit=100)

        ran = run_with(store, number, trim, before=partial(other.trim_audit, **trim.keywords))

        assert store.list_audit(limit=100) == entries[:1:-1], f"another forgot some before step {number}"
        if not ran.is_reached:
            break


@pytest.mark.stores("sqlite-file")
def test_who_finds_nothing_to_forget_waits_for_nobody_who_writes(store: Store, open_again: OpenStore) -> None:
    """Retention counts all entries each minute, and there may be many."""
    other = open_again()
    assert isinstance(other, SqliteStore)
    store.append_audit([entry(1), entry(2)])

    with other._database.write():
        assert store.trim_audit(older_than=NOW, keep=2, limit=10) == 0


def test_entries_outlast_the_handle(store: Store, open_again: OpenStore) -> None:
    store.append_audit([entry(1)])

    assert open_again().list_audit(limit=1) == [entry(1)]


def test_an_entry_that_was_begun_is_settled_once(store: Store) -> None:
    store.append_audit([entry(1, is_done=False), entry(2, is_done=False), entry(3)])

    store.settle_audit([entry(1, key="final")], dropped=[entry(2).id])
    assert store.list_audit(limit=10) == [entry(3), entry(1, key="final")]

    store.settle_audit([entry(1, key="again"), entry(3, key="again"), entry(2)], dropped=[entry(1).id, entry(3).id])
    assert store.list_audit(limit=10) == [entry(3), entry(1, key="final")]


def test_settling_makes_nothing_anew(store: Store) -> None:
    store.settle_audit([entry(1)], dropped=[entry(2).id])
    store.settle_audit([])

    assert store.list_audit(limit=10) == []


def test_what_an_entry_says_of_a_thing_does_not_open_it_again(store: Store) -> None:
    told = entry(1, before={"id": entry(1).id, "is_done": False}, uuid='","is_done":false,')
    store.append_audit([told])

    store.settle_audit([entry(1)], dropped=[told.id])

    assert store.list_audit(limit=10) == [told]
