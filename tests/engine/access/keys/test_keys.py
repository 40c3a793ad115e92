"""Which keys a server accepts, and what is kept of them."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from rota.clock import ManualClock
from rota.engine.access.keys.access import SCOPES_OF, Caller, Role, Scope, read_scopes
from rota.engine.access.keys.admin_key import SETTING, KeyPlan, check_admin_token, prepare_key, replace_key
from rota.engine.access.keys.dev_key import DEV_KEY
from rota.engine.access.keys.hashes import hash_chosen_key, hash_made_key, matches_hash
from rota.engine.access.keys.key_ring import KeyRing
from rota.engine.access.keys.keys import Keys
from rota.engine.access.keys.named_keys import NamedKey, list_keys, make_key, revoke_key
from rota.errors import InvalidInput, NotAllowed, NotFound, StoreUnavailable
from rota.store import Store, open_store
from rota.testing import Faults

CHOSEN = "chosen-by-a-person-42"
"""Long enough for a server that others can reach."""


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


def make_viewer(store: Store, name: str, *, expires_at: int | None = None) -> str:
    """A key that may read jobs."""
    scopes = frozenset({Scope.JOBS_READ})
    return make_key(store, name, role=Role.VIEWER, scopes=scopes, expires_at=expires_at, now=1)[0]


def misspellings(secret: str) -> list[str]:
    """Everything near a secret that is not it."""
    shortened = [secret[:length] for length in range(len(secret))] + [secret[start:] for start in range(1, len(secret))]
    longer = [f"{secret}{tail}" for tail in ("x", secret[-1], secret, " ", "\n", "\0", "=")] + [f"x{secret}"]
    other_case = [secret.swapcase(), secret.lower(), secret.upper()]
    changed = [
        f"{secret[:place]}{'b' if letter == 'a' else 'a'}{secret[place + 1 :]}" for place, letter in enumerate(secret)
    ]
    return [one for one in (*shortened, *longer, *other_case, *changed, secret[::-1]) if one != secret]


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


def test_the_well_known_key_works_on_loopback_for_own_programs_only(kept: Store) -> None:
    assert ring_for(kept, is_loopback=True).identify("dev_key", by_own_program=True)
    assert not ring_for(kept, is_loopback=True).identify("dev_key")
    assert not ring_for(kept, is_loopback=False).identify("dev_key", by_own_program=True)


def test_the_well_known_key_as_a_setting_is_refused_elsewhere_and_never_kept(kept: Store) -> None:
    with pytest.raises(InvalidInput, match="known to everybody"):
        plan_for(kept, "dev_key", is_loopback=False)

    assert ring_for(kept, "dev_key").identify("dev_key", by_own_program=True)
    assert not ring_for(kept, "dev_key").identify("dev_key")
    assert kept.get_setting(SETTING) is None


@pytest.mark.parametrize("by", ["a named key", "a new admin key", "a key in the settings"])
def test_the_well_known_key_ends_for_good_when_a_person_makes_or_sets_a_key(kept: Store, by: str) -> None:
    clock = ManualClock()
    ring = KeyRing(kept, plan_for(kept), clock)
    assert ring.identify("dev_key", by_own_program=True), "the key that the first start makes does not count"

    if by == "a named key":
        make_viewer(kept, "grafana")
        revoke_key(kept, "grafana")
    elif by == "a new admin key":
        replace_key(kept)
    else:
        plan_for(kept, CHOSEN)
    clock.advance(100)

    assert not ring.known("dev_key", by_own_program=True)
    assert not ring.identify("dev_key", by_own_program=True)
    assert not ring_for(kept).identify("dev_key", by_own_program=True)


def test_the_well_known_key_that_was_accepted_is_good_until_a_person_makes_a_key(kept: Store) -> None:
    clock = ManualClock()
    ring = KeyRing(kept, plan_for(kept), clock)
    caller = ring.identify("dev_key", by_own_program=True)
    assert caller is not None
    assert ring.still_good("dev_key", caller)

    make_viewer(kept, "grafana")
    clock.advance(100)

    assert not ring.still_good("dev_key", caller)


def test_the_well_known_key_does_not_work_beside_keys_that_an_older_version_made(kept: Store) -> None:
    make_viewer(kept, "grafana")
    assert kept.delete_setting("dev_key_ended")

    assert not ring_for(kept).identify("dev_key", by_own_program=True)


def test_whoever_had_a_key_once_has_had_one_when_it_is_revoked(kept: Store) -> None:
    assert not KeyRing(kept, KeyPlan(None, None, True), ManualClock()).has_keys()

    make_viewer(kept, "grafana")
    revoke_key(kept, "grafana")

    assert KeyRing(kept, KeyPlan(None, None, True), ManualClock()).has_keys()


def test_a_key_with_an_end_makes_keys_that_live_as_long_and_no_longer(kept: Store) -> None:
    clock = ManualClock()
    keys = Keys(kept, clock)
    _, mine = keys.create("mine", role=Role.ADMIN, lives_ms=60_000)
    by = Caller("mine", mine.scopes, mine.id)
    clock.advance(20_000)

    assert keys.create("same", role=Role.VIEWER, lives_ms=40_000, by=by)[1].expires_at == mine.expires_at
    for lives_ms in (40_001, None):
        with pytest.raises(NotAllowed, match="has an end"):
            keys.create("longer", role=Role.VIEWER, lives_ms=lives_ms, by=by)


@pytest.mark.parametrize(
    ("kept_scopes", "has_whole_role", "expected"),
    [
        (SCOPES_OF[Role.ADMIN] - {Scope.CONFIGURATIONS_WRITE, Scope.AUDIT_READ, Scope.KEYS_WRITE}, None, Role.ADMIN),
        (frozenset({Scope.JOBS_READ}), True, Role.ADMIN),
        (frozenset({Scope.JOBS_READ}), None, None),
        (frozenset({Scope.JOBS_READ}), False, None),
    ],
)
def test_a_key_with_a_whole_role_has_what_the_role_got_later(
    kept_scopes: frozenset[Scope], has_whole_role: bool | None, expected: Role | None
) -> None:
    key = NamedKey(
        id="k", name="n", role=Role.ADMIN, scopes=kept_scopes, hash="", made_at=0, has_whole_role=has_whole_role
    )

    assert key.caller.scopes == (kept_scopes if expected is None else SCOPES_OF[expected])


def test_a_chosen_key_is_the_only_one_and_is_kept_for_other_servers(kept: Store) -> None:
    ring = ring_for(kept, CHOSEN)

    assert ring.identify(CHOSEN)
    assert not ring.identify("dev_key")
    assert str(kept.get_setting(SETTING)).startswith("scrypt$")
    other = ring_for(kept)
    assert other.identify(CHOSEN)
    assert other.known(CHOSEN)


def told(store: Store) -> list[tuple[str, str, str, bool]]:
    """The audit log, the first change first."""
    return [(one.action, one.name, one.origin, one.is_done) for one in store.list_audit(limit=100)][::-1]


def test_the_key_of_a_first_start_leaves_one_entry_in_the_audit_log(kept: Store) -> None:
    plan_for(kept)
    plan_for(kept)

    assert told(kept) == [("create", "admin", "first start", True)]


def test_a_key_of_the_settings_leaves_an_entry_each_time_it_is_another_one(kept: Store) -> None:
    for key in (CHOSEN, CHOSEN, f"{CHOSEN}!", f"{CHOSEN}!"):
        plan_for(kept, key)

    assert told(kept) == [("create", "admin", "settings", True), ("replace", "admin", "settings", True)]


@pytest.mark.parametrize(
    ("token", "is_loopback", "refusal"),
    [
        ("let-me-in", True, None),
        ("let-me-in", False, "admin_token: has fewer than 16 characters"),
        ("aaaaaaaaaaaaaaaaaaaa", False, "admin_token: has fewer than 16 characters or hardly different ones"),
        ("a-token-that-nobody-guesses", False, None),
        ("dev_key", True, "admin_token: 'dev_key' is known to everybody"),
        ("dev_key", False, "admin_token: 'dev_key' is known to everybody"),
    ],
)
def test_an_admin_token_that_others_could_guess_is_refused(token: str, is_loopback: bool, refusal: str | None) -> None:
    if refusal is None:
        check_admin_token(token, is_loopback=is_loopback)
        return
    with pytest.raises(InvalidInput, match=refusal):
        check_admin_token(token, is_loopback=is_loopback)


def test_a_chosen_key_replaces_a_chosen_one_but_not_one_that_was_made(kept: Store) -> None:
    made = plan_for(kept).made
    assert made is not None
    plan_for(kept, CHOSEN)
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


def test_who_shows_a_key_that_was_never_looked_for_is_not_told_that_it_is_wrong(kept: Store) -> None:
    """A server that begins while its store is away."""
    plan, faults = plan_for(kept), Faults(kept)
    ring = KeyRing(faults.store, plan, ManualClock())
    assert plan.made is not None
    faults.cut_off()

    for _ in range(2):
        for key in (plan.made, DEV_KEY, "wrong"):
            with pytest.raises(StoreUnavailable):
                ring.identify(key, by_own_program=True)
    assert ring.has_keys()

    faults.reconnect()
    assert ring.identify(plan.made)
    assert ring.identify(DEV_KEY, by_own_program=True)
    assert not ring.identify("wrong")


# -- keys with a name ----------------------------------------------------------------------------------------------


def test_a_right_id_with_any_but_its_own_secret_is_refused(kept: Store) -> None:
    key, other = make_viewer(kept, "shop"), make_viewer(kept, "bank")
    prefix, key_id, secret = key.split("_", 2)
    ring = ring_for(kept, is_loopback=False)
    assert ring.identify(key) == Caller("shop", frozenset({Scope.JOBS_READ}), key_id)
    other_secret = other.split("_", 2)[2]

    for wrong in (*misspellings(secret), other_secret, "wrong"):
        assert ring.identify(f"{prefix}_{key_id}_{wrong}") is None, wrong
    assert ring.identify(f"{prefix}_{key_id}") is None


def test_a_right_secret_under_any_but_its_own_id_is_refused(kept: Store) -> None:
    key, other = make_viewer(kept, "shop"), make_viewer(kept, "bank")
    prefix, key_id, secret = key.split("_", 2)
    other_id = other.split("_", 2)[1]
    ring = ring_for(kept, is_loopback=False)
    assert ring.identify(key)

    for wrong in (other_id, "", "0", "shop", key_id.upper() if key_id.upper() != key_id else "X", key_id[:-1]):
        assert ring.identify(f"{prefix}_{wrong}_{secret}") is None, wrong
    for wrong in (secret, f"{key_id}_{secret}", f"ROTA_{key_id}_{secret}", f"rota{key_id}_{secret}", f" {key}"):
        assert ring.identify(wrong) is None, wrong


def test_the_made_admin_key_is_taken_to_the_letter(kept: Store) -> None:
    made = plan_for(kept, is_loopback=False).made
    assert made is not None
    ring = ring_for(kept, is_loopback=False)
    assert ring.identify(made)

    for wrong in misspellings(made):
        assert ring.identify(wrong) is None, wrong


@pytest.mark.parametrize(
    "wrong",
    [CHOSEN[:-1], CHOSEN + "x", CHOSEN[1:], CHOSEN.capitalize(), CHOSEN.upper(), CHOSEN + " ", " " + CHOSEN, "c", ""],
)
def test_a_chosen_key_is_taken_to_the_letter(kept: Store, wrong: str) -> None:
    given, by_hash = ring_for(kept, CHOSEN, is_loopback=False), ring_for(kept, is_loopback=False)

    assert given.identify(CHOSEN) is not None
    assert by_hash.identify(CHOSEN) is not None
    assert given.identify(wrong) is None
    assert by_hash.identify(wrong) is None


def test_what_is_kept_of_a_key_opens_nothing(kept: Store) -> None:
    key = make_viewer(kept, "shop")
    made = plan_for(kept, is_loopback=False).made
    ring = ring_for(kept, is_loopback=False)
    (record,) = list_keys(kept)
    admin_hash = str(kept.get_setting(SETTING))

    for wrong in (record.hash, record.id, f"rota_{record.id}_{record.hash}", f"rota_{record.id}_", admin_hash):
        assert ring.identify(wrong) is None
    assert key not in str(kept.list_settings(""))
    assert str(made) not in str(kept.list_settings(""))


def test_every_key_is_another_one_and_long_enough_not_to_be_guessed(kept: Store) -> None:
    keys = [make_viewer(kept, f"k{number}") for number in range(50)]
    secrets = [key.split("_", 2)[2] for key in keys]

    assert len({key.split("_", 2)[1] for key in keys}) == 50
    assert len(set(secrets)) == 50
    assert all(len(secret) == 43 for secret in secrets), "256 bits, six to a letter"
    assert len({replace_key(kept) for _ in range(10)}) == 10


def test_a_key_expires_at_its_instant_whether_it_was_seen_before_or_not(kept: Store) -> None:
    clock = ManualClock()
    key = make_viewer(kept, "short", expires_at=clock.now() + 1_000)
    plan = plan_for(kept, is_loopback=False)
    ring = KeyRing(kept, plan, clock)
    assert ring.identify(key)

    clock.advance(999)
    assert ring.known(key)
    assert ring.identify(key)
    assert KeyRing(kept, plan, clock).identify(key)
    clock.advance(1)
    assert not ring.known(key)
    assert not ring.identify(key)
    assert not KeyRing(kept, plan, clock).identify(key)


def test_a_revoked_key_is_refused_at_the_next_look_and_others_are_not(kept: Store) -> None:
    clock = ManualClock()
    gone, stays = make_viewer(kept, "gone"), make_viewer(kept, "stays")
    ring = KeyRing(kept, plan_for(kept, CHOSEN, is_loopback=False), clock)
    assert [bool(ring.identify(key)) for key in (gone, stays, CHOSEN)] == [True, True, True]

    revoke_key(kept, "gone")
    clock.advance(2_001)

    assert [bool(ring.identify(key)) for key in (gone, stays, CHOSEN)] == [False, True, True]
    assert [one.name for one in list_keys(kept)] == ["stays"]


def test_a_key_is_revoked_by_name_or_id_and_only_it(kept: Store) -> None:
    first, second = make_viewer(kept, "first"), make_viewer(kept, "second")

    assert revoke_key(kept, second.split("_", 2)[1]).name == "second"
    with pytest.raises(NotFound):
        revoke_key(kept, "second")

    ring = ring_for(kept, is_loopback=False)
    assert ring.identify(first)
    assert not ring.identify(second)


def test_a_key_named_like_the_id_of_another_is_not_revoked_in_its_place(kept: Store) -> None:
    make_viewer(kept, "zed")
    (zed,) = list_keys(kept)
    decoy = msgspec.structs.replace(zed, id="0123456789ab", name=zed.id)  # as an older version let one make it
    kept.put_setting("key:0123456789ab", msgspec.json.encode(decoy).decode())

    assert revoke_key(kept, zed.id).name == "zed"

    assert [one.id for one in list_keys(kept)] == ["0123456789ab"]


def test_a_key_is_not_named_like_an_id(kept: Store) -> None:
    with pytest.raises(InvalidInput, match="looks like the id of a key"):
        make_viewer(kept, "0123456789ab")
    make_viewer(kept, "0123456789abc")

    assert [one.name for one in list_keys(kept)] == ["0123456789abc"]


def test_a_key_that_was_replaced_under_its_id_is_another_one(kept: Store) -> None:
    clock = ManualClock()
    key = make_viewer(kept, "shop")
    ring = KeyRing(kept, plan_for(kept, is_loopback=False), clock)
    assert ring.identify(key)

    key_id = key.split("_", 2)[1]
    record = msgspec.json.decode(str(kept.get_setting(f"key:{key_id}")))
    kept.put_setting(f"key:{key_id}", msgspec.json.encode({**record, "scopes": ["metrics:r"]}).decode())
    clock.advance(2_001)

    caller = ring.identify(key)
    assert caller is not None
    assert caller.scopes == {Scope.METRICS_READ}


def test_a_known_key_is_known_for_two_seconds_and_then_looked_up_again(kept: Store) -> None:
    clock = ManualClock()
    faults = Faults(kept)
    key = make_viewer(kept, "shop")
    ring = KeyRing(faults.store, plan_for(kept, is_loopback=False), clock)
    ring.identify(key)
    faults.calls.clear()

    clock.advance(2_000)
    assert ring.known(key)
    assert ring.identify(key)
    assert faults.calls == []
    clock.advance(1)
    assert not ring.known(key)
    assert ring.identify(key)
    assert sorted(faults.calls) == ["get_setting", "list_settings"]


def test_a_key_that_was_made_elsewhere_is_taken_within_a_tenth_of_a_second_and_guesses_do_not_flood_the_store(
    kept: Store,
) -> None:
    clock, faults = ManualClock(), Faults(kept)
    ring = KeyRing(faults.store, plan_for(kept, is_loopback=False), clock)
    ring.identify("wrong")
    faults.calls.clear()

    assert [ring.identify(f"wrong {number}") for number in range(100)] == [None] * 100
    assert faults.calls == []
    key = make_viewer(kept, "shop")
    clock.advance(100)

    assert ring.identify(key)


def test_a_server_with_a_chosen_key_takes_named_keys_but_no_made_one(kept: Store) -> None:
    made = plan_for(kept, is_loopback=False).made
    named = make_viewer(kept, "shop")
    assert made is not None
    ring = ring_for(kept, CHOSEN, is_loopback=False)

    assert ring.identify(named) == Caller("shop", frozenset({Scope.JOBS_READ}), named.split("_")[1])
    assert ring.identify(made) is None
    assert not ring.was_good(made)


def test_a_good_key_is_told_from_a_guess_without_being_seen_before(kept: Store) -> None:
    made = plan_for(kept, is_loopback=False).made
    named = make_viewer(kept, "shop")
    assert made is not None
    ring = ring_for(kept, is_loopback=False)
    assert not ring.was_good(named), "nothing was read yet"

    ring.identify("wrong")

    assert ring.was_good(named)
    assert ring.was_good(made)
    assert not ring.was_good("wrong")
    assert not ring.was_good(named[:-1])
    assert not ring.was_good(made[:-1])


def test_a_slow_key_that_was_seen_stays_told_from_a_guess_when_other_keys_change(kept: Store) -> None:
    clock = ManualClock()
    plan_for(kept, CHOSEN)
    ring = KeyRing(kept, plan_for(kept, is_loopback=False), clock)
    assert not ring.was_good(CHOSEN)
    assert ring.identify(CHOSEN)

    make_viewer(kept, "shop")
    clock.advance(2_001)
    assert ring.identify("wrong") is None
    assert ring.was_good(CHOSEN)
    assert ring.known(CHOSEN)

    kept.put_setting(SETTING, hash_chosen_key("another"))
    clock.advance(2_001)
    assert ring.identify(CHOSEN) is None
    assert not ring.was_good(CHOSEN)


def test_keys_have_the_scopes_of_their_role_or_those_that_are_named() -> None:
    reads = {"jobs:r", "types:r", "queues:r", "nodes:r", "sched:r", "events:r", "metrics:r"}
    writes = {"jobs:w", "queues:w", "nodes:w", "sched:w", "events:w", "config:w"}

    assert read_scopes([], Role.VIEWER) == reads
    assert read_scopes([], Role.OPERATOR) == reads | writes
    assert read_scopes([], Role.ADMIN) == reads | writes | {"types:w", "audit:r", "keys:w"}
    assert read_scopes(["jobs:w", "jobs:r", "jobs:r"], Role.OPERATOR) == {"jobs:r", "jobs:w"}


@pytest.mark.parametrize(
    ("scope", "role"),
    [
        *((scope, "viewer") for scope in ("jobs:w", "types:w", "queues:w", "nodes:w", "sched:w", "events:w")),
        ("types:w", "operator"),
    ],
)
def test_a_key_cannot_have_more_than_its_role(scope: str, role: str) -> None:
    with pytest.raises(InvalidInput, match="more than the role"):
        read_scopes(["jobs:r", scope], Role(role))


@pytest.mark.parametrize("word", ["", "root", "Admin", "ADMIN", "viewers", "all"])
def test_an_unknown_scope_is_refused(word: str) -> None:
    with pytest.raises(InvalidInput, match="scope: must be one of jobs:r, "):
        read_scopes([word], Role.ADMIN)
