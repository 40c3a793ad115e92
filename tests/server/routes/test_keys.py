"""Keys over HTTP: nobody gets beyond what they have."""

from typing import Any

from starlette.testclient import TestClient

from rota.engine.access.keys.access import Role, read_scopes
from rota.engine.access.keys.named_keys import list_keys, make_key
from rota.server.api import Api
from rota.server.app import make_app
from rota.store import Store
from tests.server.auth.test_authorisation import shown
from tests.server.serving import BASE

DAY_MS = 24 * 3600 * 1000


def made(client: TestClient, **body: object) -> Any:
    return client.post("/api/keys", json=body)


def test_a_key_is_made_shown_once_works_and_is_revoked(admin: TestClient, api: Api, kept: Store) -> None:
    answer = made(admin, name="shop", role="operator", scopes=["jobs:r"], expires_in=DAY_MS).json()

    key = answer.pop("api_key")
    client = TestClient(make_app(api), BASE, headers={"Authorization": f"Bearer {key}"})
    assert client.get("/api/jobs").status_code == 200
    assert client.get("/api/schedules").status_code == 403
    assert answer["expires_at"] - answer["made_at"] == DAY_MS
    listed = admin.get("/api/keys").json()["keys"]
    assert listed == [answer]
    assert key.split("_", 2)[2] not in str(listed) + str(kept.list_audit(limit=100))
    assert admin.delete("/api/keys/shop").status_code == 200
    assert list_keys(kept) == []
    assert admin.delete("/api/keys/shop").status_code == 404


def test_a_key_makes_and_revokes_none_that_may_do_more(api: Api, kept: Store) -> None:
    client = TestClient(make_app(api), BASE, headers=shown(kept, "narrow", Role.ADMIN, "keys:w", "jobs:r"))
    shown(kept, "boss", Role.ADMIN)

    assert made(client, name="a", role="admin", scopes=["keys:w", "jobs:r"]).status_code == 200
    for body in ({"role": "admin"}, {"role": "viewer"}, {"role": "admin", "scopes": ["jobs:w"]}):
        refused = made(client, name="b", **body)
        assert (refused.status_code, "lacks" in refused.json()["error"]) == (403, True)
    assert client.delete("/api/keys/boss").status_code == 403
    assert client.delete("/api/keys/admin").status_code == 403
    assert [one.name for one in list_keys(kept)] == ["a", "boss", "narrow"]
    api.close()


def test_a_key_with_an_end_makes_none_that_lives_longer(api: Api, kept: Store) -> None:
    now = api.engine.clock.now()
    key, _ = make_key(
        kept, "ends", role=Role.ADMIN, scopes=read_scopes([], Role.ADMIN), expires_at=now + DAY_MS, now=now
    )
    client = TestClient(make_app(api), BASE, headers={"Authorization": f"Bearer {key}"})

    for body in ({}, {"expires_in": 2 * DAY_MS}):
        refused = made(client, name="long", **body)
        assert (refused.status_code, "lives longer" in refused.json()["error"]) == (403, True)
    assert made(client, name="short", expires_in=DAY_MS // 2).status_code == 200
    api.close()
