"""Sessions: whose they are, and when they end."""

from collections.abc import Iterator

import pytest

from rota.clock import ManualClock
from rota.engine.access.keys.access import ADMIN, SCOPES_OF, Role
from rota.engine.access.keys.admin_key import KeyPlan, prepare_key, replace_key
from rota.engine.access.keys.key_ring import KeyRing
from rota.engine.access.keys.named_keys import make_key, revoke_key
from rota.engine.access.keys.sessions import LIFE_MS, SECRET, Sessions
from rota.store import Store, open_store

HOUR = 3_600_000


@pytest.fixture
def kept() -> Iterator[Store]:
    store = open_store("sqlite://:memory:")
    yield store
    store.close()


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


def sessions_on(store: Store, clock: ManualClock, plan: KeyPlan | None = None) -> Sessions:
    """Of one process."""
    return Sessions(store, KeyRing(store, plan or KeyPlan(None, None, False), clock), clock)


def begun(sessions: Sessions, holder: str, *, by_own_program: bool = False) -> str:
    found = sessions.begin(holder, by_own_program=by_own_program)
    assert found is not None
    return found.session


def viewer(store: Store, clock: ManualClock, name: str = "eve", expires_at: int | None = None) -> str:
    """The id of a new key."""
    clock.advance(100)  # what is known of the keys is older than that
    scopes = SCOPES_OF[Role.VIEWER]
    return make_key(store, name, role=Role.VIEWER, scopes=scopes, expires_at=expires_at, now=clock.now())[1].id


def test_a_session_is_its_keys_caller_in_every_process(kept: Store, clock: ManualClock) -> None:
    holder = viewer(kept, clock)
    session = begun(sessions_on(kept, clock), holder)

    caller = sessions_on(kept, clock).identify(session)

    assert caller is not None
    assert (caller.name, caller.key, caller.scopes) == ("eve", holder, SCOPES_OF[Role.VIEWER])


def test_a_session_ends_after_twelve_hours(kept: Store, clock: ManualClock) -> None:
    assert LIFE_MS == 12 * HOUR
    sessions = sessions_on(kept, clock)
    session = begun(sessions, viewer(kept, clock))

    clock.advance(12 * HOUR - 1)
    assert sessions.identify(session) is not None
    clock.advance(1)
    assert sessions.identify(session) is None
    assert sessions.known(session) is None


def test_a_session_ends_with_its_key(kept: Store, clock: ManualClock) -> None:
    sessions = sessions_on(kept, clock)
    revoked = begun(sessions, viewer(kept, clock, "revoked"))
    expired = begun(sessions, viewer(kept, clock, "expired", expires_at=clock.now() + HOUR))
    prepare_key(kept, configured=None, is_loopback=True)
    clock.advance(5_000)
    replaced = begun(sessions, "admin")

    revoke_key(kept, "revoked")
    replace_key(kept)
    clock.advance(HOUR)

    assert [sessions.identify(one) for one in (revoked, expired, replaced)] == [None, None, None]


def test_a_key_of_the_same_name_with_another_role_does_not_inherit_sessions(kept: Store, clock: ManualClock) -> None:
    sessions = sessions_on(kept, clock)
    holder = viewer(kept, clock)
    session = begun(sessions, holder)
    record = kept.get_setting(f"key:{holder}")
    assert record is not None

    kept.put_setting(f"key:{holder}", record.replace('"viewer"', '"admin"'))
    clock.advance(5_000)

    assert sessions.identify(session) is None


def test_only_what_the_secret_signed_is_a_session(kept: Store, clock: ManualClock) -> None:
    sessions = sessions_on(kept, clock)
    first, second = viewer(kept, clock, "first"), viewer(kept, clock, "second")
    session = begun(sessions, first)
    holder, expires, signature = session.split(".")

    forged = [
        f"{second}.{expires}.{signature}",
        f"{holder}.{int(expires) + 1}.{signature}",
        f"{holder}.{expires}.{signature[:-1]}",
        f"{holder}.{expires}.",
        f"{holder}.{expires}",
        f"{holder}.9e99.{signature}",
        f"{holder}.{'9' * 400}.{signature}",
        f"admin.{expires}.{signature}",
        f"dev_key.{expires}.{signature}",
        "..",
        "",
        "é.1.ü",
    ]

    assert [one for one in forged if sessions.identify(one, by_own_program=True)] == []
    assert sessions.identify(session) is not None


def test_another_store_has_another_secret(kept: Store, clock: ManualClock) -> None:
    other = open_store("sqlite://:memory:")
    try:
        session = begun(sessions_on(kept, clock), viewer(kept, clock))
        for name, value in kept.list_settings("key:").items():
            other.put_setting(name, value)

        assert sessions_on(other, clock).identify(session) is None
        assert kept.get_setting(SECRET) != other.get_setting(SECRET)
    finally:
        other.close()


def test_the_session_of_dev_key_is_for_own_programs_and_ends_when_a_person_makes_a_key(
    kept: Store, clock: ManualClock
) -> None:
    sessions = sessions_on(kept, clock, KeyPlan(None, None, True))
    session = begun(sessions, "dev_key", by_own_program=True)

    assert sessions.begin("dev_key") is None
    assert sessions.identify(session) is None
    assert sessions.identify(session, by_own_program=True) == ADMIN
    viewer(kept, clock)
    clock.advance(100)
    assert sessions.identify(session, by_own_program=True) is None


def test_a_key_of_the_settings_has_sessions_that_end_with_it(kept: Store, clock: ManualClock) -> None:
    session = begun(sessions_on(kept, clock, KeyPlan(None, "chosen", False)), "admin")

    assert sessions_on(kept, clock, KeyPlan(None, "chosen", False)).identify(session) == ADMIN
    assert sessions_on(kept, clock, KeyPlan(None, "another", False)).identify(session) is None
