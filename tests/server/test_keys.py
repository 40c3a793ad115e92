"""Which keys a server accepts, and what is kept of them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from rota.clock import ManualClock
from rota.errors import InvalidInput
from rota.server.hashes import hash_chosen_key, hash_made_key, matches_hash
from rota.server.keys import SETTING, KeyPlan, KeyRing, prepare_key, replace_key
from rota.store import Store, open_store


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Store]:
    """A store with nothing in it."""
    store = open_store(f"sqlite:///{tmp_path / 'rota.db'}")
    yield store
    store.close()


def plan_for(store: Store, configured: str | None = None, *, is_loopback: bool = True) -> KeyPlan:
    return prepare_key(store, configured=configured, is_loopback=is_loopback)


def ring_for(store: Store, configured: str | None = None, *, is_loopback: bool = True) -> KeyRing:
    return KeyRing(store, plan_for(store, configured, is_loopback=is_loopback), ManualClock())


@pytest.mark.parametrize("hashed_by", [hash_made_key, hash_chosen_key])
def test_a_hash_fits_its_key_only(hashed_by: "type[str]") -> None:
    hashed = hashed_by("a key")

    assert matches_hash("a key", hashed)
    assert not matches_hash("another key", hashed)
    assert not matches_hash("", hashed)
    assert "a key" not in hashed
    assert hashed != hashed_by("a key"), "each hash has a salt of its own"


@pytest.mark.parametrize("kept_hash", ["", "md5$00$00", "sha256$$", "sha256$zz$00", "nonsense"])
def test_an_unknown_hash_fits_no_key(kept_hash: str) -> None:
    assert not matches_hash("", kept_hash)
    assert not matches_hash("a key", kept_hash)


def test_a_key_is_made_at_the_first_start_only(kept: Store) -> None:
    first, second = plan_for(kept), plan_for(kept)

    assert first.made is not None
    assert second.made is None
    assert ring_for(kept).identify(first.made)
    assert first.made not in str(kept.get_setting(SETTING))


def test_a_wrong_key_is_refused(kept: Store) -> None:
    ring = ring_for(kept, is_loopback=False)

    for key in ("", "wrong", "dev_key", "ключ", "\udcff"):
        assert not ring.identify(key)


def test_the_well_known_key_works_on_loopback_only(kept: Store) -> None:
    assert ring_for(kept, is_loopback=True).identify("dev_key")
    assert not ring_for(kept, is_loopback=False).identify("dev_key")


def test_the_well_known_key_as_a_setting_is_refused_elsewhere_and_never_kept(kept: Store) -> None:
    with pytest.raises(InvalidInput, match="known to everybody"):
        plan_for(kept, "dev_key", is_loopback=False)

    assert ring_for(kept, "dev_key").identify("dev_key")
    assert kept.get_setting(SETTING) is None


def test_a_chosen_key_is_the_only_one_and_is_kept_for_other_servers(kept: Store) -> None:
    ring = ring_for(kept, "chosen")

    assert ring.identify("chosen")
    assert not ring.identify("dev_key")
    assert str(kept.get_setting(SETTING)).startswith("scrypt$")
    other = ring_for(kept)
    assert other.identify("chosen")
    assert other.known("chosen")


def test_a_chosen_key_replaces_a_chosen_one_but_not_one_that_was_made(kept: Store) -> None:
    made = plan_for(kept).made
    assert made is not None
    plan_for(kept, "chosen")
    assert ring_for(kept).identify(made)

    kept.put_setting(SETTING, hash_chosen_key("old"))
    plan_for(kept, "new")

    assert ring_for(kept).identify("new")
    assert not ring_for(kept).identify("old")


def test_a_known_key_costs_no_hash_and_a_replaced_one_is_forgotten(kept: Store) -> None:
    clock = ManualClock()
    plan = plan_for(kept, is_loopback=False)
    ring = KeyRing(kept, plan, clock)
    assert plan.made is not None
    assert not ring.known(plan.made)
    assert ring.identify(plan.made)
    assert ring.known(plan.made)

    new = replace_key(kept)
    clock.advance(5_000)

    assert not ring.identify(plan.made)
    assert ring.identify(new)


def test_a_key_is_still_good_while_the_store_does_not_answer(kept: Store, tmp_path: Path) -> None:
    clock = ManualClock()
    gone = open_store(f"sqlite:///{tmp_path / 'rota.db'}")
    plan = plan_for(gone)
    ring = KeyRing(gone, plan, clock)
    assert plan.made is not None
    assert ring.identify(plan.made)

    gone.close()
    clock.advance(5_000)

    assert ring.identify(plan.made)
    assert not ring.identify("wrong")
