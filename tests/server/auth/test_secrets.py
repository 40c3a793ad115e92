"""What a server shows of secrets, and how long a key is good for."""

import asyncio
import stat
from pathlib import Path

import msgspec
import pytest
from starlette.datastructures import Headers
from starlette.testclient import TestClient

from rota.clock import ManualClock
from rota.engine.access.keys.access import Role, read_scopes
from rota.engine.access.keys.admin_key import prepare_key
from rota.engine.access.keys.named_keys import make_key, revoke_key
from rota.errors import InvalidInput
from rota.server.api import Api
from rota.server.app import make_app
from rota.server.operations import Call
from rota.server.routes.jobs.logs import KEY_CHECK_S, LogQuery, _events
from rota.store import Store, open_store
from tests.server.routes.test_logs import RunningJob
from tests.server.serving import BASE, BEARER, make_api

METADATA = {"command": ["true"], "environment": {"PGPASSWORD": "canary", "TOKEN": "env:TOKEN"}}


def bearer(store: Store, name: str, role: str, *scopes: str, expires_at: int | None = None) -> dict[str, str]:
    named = read_scopes(scopes, Role(role))
    key, _ = make_key(store, name, role=Role(role), scopes=named, expires_at=expires_at, now=1)
    return {"Authorization": f"Bearer {key}"}


def test_only_those_who_may_define_see_the_secrets_of_a_job_type(api: Api, kept: Store) -> None:
    client = TestClient(make_app(api), BASE)
    keys = {role: bearer(kept, role, role) for role in ("viewer", "operator", "admin")}
    keys["narrow"] = bearer(kept, "narrow", "admin", "types:r")
    body = {"name": "dump", "executor": "bash", "metadata": METADATA}
    uuid = client.post("/api/job_types", json=body, headers=BEARER).json()["uuid"]

    seen = {
        name: [
            client.get("/api/job_types", headers=headers).json()["job_types"][0]["metadata"]["environment"],
            client.get(f"/api/job_types/{uuid}", headers=headers).json()["metadata"]["environment"],
        ]
        for name, headers in keys.items()
    }

    masked = {"PGPASSWORD": "***", "TOKEN": "env:TOKEN"}
    assert seen == {
        "viewer": [masked, masked],
        "operator": [masked, masked],
        "narrow": [masked, masked],
        "admin": [METADATA["environment"], METADATA["environment"]],
    }
    api.close()


@pytest.mark.parametrize("end", ["revoked", "expired"])
def test_a_live_stream_ends_with_its_key(kept: Store, end: str) -> None:
    clock = ManualClock()
    api = make_api(kept, clock=clock)
    job = RunningJob(api)
    headers = bearer(kept, "reader", "viewer", "jobs:r", expires_at=clock.now() + 60_000)
    caller = api.keys.identify(headers["Authorization"].removeprefix("Bearer "))
    assert caller is not None
    call = Call[None, LogQuery]({}, LogQuery(), None, caller, Headers(headers))

    async def live() -> list[bytes]:
        stream = _events(api, job.id, 0, call)
        found = [await anext(stream)]
        job.say("before")
        found.append(await anext(stream))
        clock.advance(int(KEY_CHECK_S * 1000) + 1)
        job.say("while it is good")
        found.append(await anext(stream))
        if end == "revoked":
            revoke_key(kept, "reader")
            clock.advance(int(KEY_CHECK_S * 1000) + 1)
        else:
            clock.advance(120_000)
        job.say("canary")
        return found + [chunk async for chunk in stream]

    found = asyncio.run(asyncio.wait_for(live(), 60))
    assert [b"before" in found[1], b"while it is good" in found[2]] == [True, True]
    assert b"canary" not in b"".join(found)
    assert len(found) == 3
    api.close()


@pytest.mark.parametrize("weak", ["short", "0123456789abcde", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaa"])
def test_a_key_that_can_be_guessed_opens_no_server_that_others_reach(kept: Store, weak: str) -> None:
    with pytest.raises(InvalidInput, match="others could guess it") as refused:
        prepare_key(kept, configured=weak, is_loopback=False)

    assert weak not in str(refused.value)
    assert prepare_key(kept, configured=weak, is_loopback=True).configured == weak
    assert prepare_key(kept, configured="0123456789abcdef", is_loopback=False).made is None


def test_files_of_a_store_are_for_their_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "rota.db"
    with_others = tmp_path / "shared.db"
    with_others.touch(mode=0o664)
    with_others.chmod(0o664)

    store = open_store(f"sqlite:///{path}")
    store.put_setting("a", "b")
    modes = {one.name: stat.S_IMODE(one.stat().st_mode) for one in tmp_path.glob("rota.db*")}
    store.close()
    open_store(f"sqlite:///{with_others}").close()

    assert modes == dict.fromkeys(("rota.db", "rota.db-wal", "rota.db-shm"), 384)
    assert stat.S_IMODE(with_others.stat().st_mode) == 0o664, "what its owner gave it, it keeps"


@pytest.mark.parametrize(
    "url",
    [
        "rdis://:hunter2@host",
        "redis://:hunter2@127.0.0.1:1/x",
        "redis://u:hunter2@127.0.0.1:1/0/1",
        "redis://:pass/hunter2@127.0.0.1:1/0",
        "sentinel://:hunter2@127.0.0.1:1/name/x",
        "redis+cluster://:hunter2@127.0.0.1:port",
        "redis://:hunter2@127.0.0.1:1/0?answer_timeout_s=x",
        "redis://127.0.0.1:1/0?password=hunter2&answer_timeout_s=x",
        "redis://:hunter2@[::1/0",
        "redis://:hunter2@127.0.0.1:1/0",
    ],
)
def test_no_error_about_a_store_shows_its_password(url: str) -> None:
    with pytest.raises(Exception) as refused:  # noqa: PT011 whatever it is
        open_store(url).now()

    told = [str(refused.value), msgspec.json.encode(repr(refused.value)).decode()]
    assert [one for one in told if "hunter2" in one] == []
