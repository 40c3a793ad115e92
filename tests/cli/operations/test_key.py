"""`rota key`: keys with a name, a role, scopes and an end."""

import pytest

from rota.clock import SystemClock
from rota.engine.access.keys.access import Scope
from rota.engine.access.keys.admin_key import prepare_key
from rota.engine.access.keys.key_ring import KeyRing
from rota.store import Store
from tests.cli.calling import done, rota

pytestmark = pytest.mark.usefixtures("place")


def ring(store: Store) -> KeyRing:
    return KeyRing(store, prepare_key(store, configured=None, is_loopback=False), SystemClock())


def test_a_key_is_shown_once_and_works(opened: Store) -> None:
    key = done("key", "create", "shop", "--role", "operator", "--scope", "jobs:w", "--scope", "jobs:r").stdout.strip()

    caller = ring(opened).identify(key)

    assert caller is not None
    assert (caller.name, sorted(caller.scopes)) == ("shop", [Scope.JOBS_READ, Scope.JOBS_WRITE])
    assert key not in str(opened.list_settings(""))


def test_keys_are_listed_without_the_keys(opened: Store) -> None:
    done("key", "create", "--store", "sqlite:///rota.db")
    key = done("key", "create", "grafana", "--scope", "metrics:r", "--expires", "90d", "--json").json["api_key"]

    answer = done("key", "list", "--json")

    admin, grafana = answer.json
    assert (admin["name"], admin["role"]) == ("admin", "admin")
    assert (grafana["role"], grafana["scopes"], grafana["expired"]) == ("viewer", ["metrics:r"], False)
    assert grafana["expires_at"] - grafana["made_at"] == 90 * 24 * 3600 * 1000
    assert key not in answer.stdout
    assert key.split("_", 2)[2] not in answer.stdout
    assert "grafana" in done("key", "list").stdout


def test_a_revoked_key_is_refused(opened: Store) -> None:
    key = done("key", "create", "shop").stdout.strip()

    done("key", "revoke", "shop")

    assert ring(opened).identify(key) is None
    assert rota("key", "revoke", "shop").exit_code == 3


def test_the_admin_key_is_revoked_too() -> None:
    done("key", "create", "--store", "sqlite:///rota.db")

    done("key", "revoke", "admin")

    assert done("key", "list", "--json").json == []


def test_the_admin_key_is_made_anew_where_the_store_is(place: str) -> None:
    answer = rota("key", "create")

    assert answer.exit_code == (2 if place == "server" else 0)
    assert ("rota key create NAME --role admin" in answer.stderr) == (place == "server")


@pytest.mark.parametrize(
    ("words", "exit_code", "said"),
    [
        (["shop"], 4, "already"),
        (["admin"], 2, "without a name"),
        (["a\tb"], 2, "is not a name"),
        (["other", "--scope", "jobs:w"], 2, "another role"),
        (["other", "--scope", "everything"], 2, "must be one of"),
        (["--role", "viewer"], 2, "NAME"),
        (["--scope", "jobs:r"], 2, "NAME"),
        (["--expires", "90d"], 2, "NAME"),
    ],
)
def test_a_key_that_cannot_be_meant_is_not_made(words: list[str], exit_code: int, said: str) -> None:
    done("key", "create", "shop")

    answer = rota("key", "create", *words)

    assert answer.exit_code == exit_code
    assert said in answer.stderr
    assert [one["name"] for one in done("key", "list", "--json").json] == ["shop"]
