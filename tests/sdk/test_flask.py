"""The endpoint for events in a Flask app: who may post, what is answered, and that it takes events as a server does."""

import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from rota.engine.access.keys.access import Role, Scope
from rota.engine.access.keys.admin_key import prepare_key
from rota.engine.access.keys.named_keys import make_key, revoke_key
from rota.store import Store, open_store
from rota.testing import Faults
from tests.cli.calling import environment
from tests.engine.events.installation import EventsInstallation, needs
from tests.engine.faults.test_store_faults import be_away

flask = pytest.importorskip("flask")

GOOD = {"eventType": "FILE", "eventTimestamp": "2021-01-01T12:00:00Z", "eventResourceId": "a"}
KEY = "rota-key-of-the-app"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(f"sqlite:///{tmp_path / 'rota.db'}")
    EventsInstallation(opened).define_configuration("c", needs("FILE", "a", 0))
    yield opened
    opened.close()


def client_of(store: Store, api_key: str | None = None) -> Any:
    from rota.sdk.flask import event_blueprint

    app = flask.Flask("test")
    app.register_blueprint(event_blueprint(store, api_key=api_key))
    return app.test_client()


@pytest.mark.parametrize(
    "shown",
    [
        None,
        "",
        KEY,
        "Bearer",
        "Bearer ",
        f"Basic {KEY}",
        f"Bearer {KEY[:-1]}",
        f"Bearer {KEY}x",
        f"Bearer {KEY.upper()}",
        "Bearer wrong",
    ],
)
def test_without_the_key_nothing_is_taken(store: Store, shown: str | None) -> None:
    headers = {} if shown is None else {"Authorization": shown}

    answer = client_of(store, KEY).post("/events", json=GOOD, headers=headers)

    assert answer.status_code == 401
    assert "a valid key is needed" in answer.json["error"]
    assert EventsInstallation(store).configurations.find("c").state.evaluated == 0


@pytest.mark.parametrize("shown", [f"Bearer {KEY}", f"bearer {KEY}", f"Bearer  {KEY} "])
def test_with_the_key_an_event_is_taken(store: Store, shown: str) -> None:
    answer = client_of(store, KEY).post("/events", json=GOOD, headers={"Authorization": shown})

    assert answer.status_code == 200
    assert [one["configuration"] for one in answer.json["triggered"]] == ["c"]


def test_a_list_is_taken_in_order_and_bad_ones_are_named(store: Store) -> None:
    later = {**GOOD, "eventTimestamp": "2021-01-01T12:00:01Z"}

    answer = client_of(store).post("/events", json=[GOOD, {}, later])

    assert answer.status_code == 200
    assert [one["event"] for one in answer.json["triggered"]] == [0, 2]
    assert [(one["event"], one["field"]) for one in answer.json["failed"]] == [(1, "eventType")]
    assert client_of(store).post("/events", json=[{}]).status_code == 400


@pytest.mark.parametrize(
    ("content", "kind", "status"),
    [
        (b"{", "application/json", 400),
        (b"[" * 100_000, "application/json", 400),
        (b"{}", "application/json", 400),
        (b'"' + b"x" * 16 * 1024 * 1024 + b'"', "application/json", 413),
        (b"{}", "text/plain", 415),
    ],
)
def test_what_is_no_event_is_refused(store: Store, content: bytes, kind: str, status: int) -> None:
    answer = client_of(store).post("/events", data=content, content_type=kind)

    assert (answer.status_code, answer.json["status"]) == (status, "error")


def test_a_body_of_too_many_values_is_refused_before_it_is_read(store: Store) -> None:
    answer = client_of(store).post(
        "/events", data=b'{"eventType":[' + b"0," * 600_000 + b"0]}", content_type="application/json"
    )

    assert answer.json["error"] == "body: holds more than 500,000 values; send fewer in one call"


def test_a_store_that_is_away_is_told_and_the_event_can_be_sent_again(store: Store) -> None:
    faults = Faults(store)
    client = client_of(faults.store)
    faults.before("match_events", be_away)

    assert client.post("/events", json={**GOOD, "eventId": "x"}).status_code == 503
    again = client.post("/events", json={**GOOD, "eventId": "x"})

    assert len(again.json["triggered"]) == 1


def key_for(store: Store, name: str, scope: Scope) -> str:
    return make_key(store, name, role=Role.OPERATOR, scopes=frozenset({scope}), expires_at=None, now=1)[0]


def test_a_store_with_keys_wants_one_and_takes_it_for_what_it_may(store: Store) -> None:
    client = client_of(store)
    assert client.post("/events", json=GOOD).status_code == 200, "nobody has a key yet"
    poster = key_for(store, "poster", Scope.EVENTS_WRITE)
    reader = key_for(store, "reader", Scope.EVENTS_READ)
    client = client_of(store)

    def status(key: str | None) -> int:
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        return int(client.post("/events", json=GOOD, headers=headers).status_code)

    assert [status(key) for key in (None, "wrong", "dev_key", reader, poster)] == [401, 401, 401, 403, 200]
    revoke_key(store, "poster")
    revoke_key(store, "reader")
    client = client_of(store)
    assert [status(key) for key in (None, poster)] == [401, 401], "who had keys does not want to be open"


def test_the_key_of_a_first_start_is_a_key_too(store: Store) -> None:
    made = prepare_key(store, configured=None, is_loopback=True).made
    client = client_of(store)

    assert client.post("/events", json=GOOD).status_code == 401
    assert client.post("/events", json=GOOD, headers={"Authorization": f"Bearer {made}"}).status_code == 200


def test_wrong_keys_are_limited_also_at_the_same_moment_and_good_ones_are_not(store: Store) -> None:
    client = client_of(store, KEY)

    def status(key: str) -> int:
        app_client = client.application.test_client()
        return int(app_client.post("/events", json=GOOD, headers={"Authorization": f"Bearer {key}"}).status_code)

    assert {status(KEY) for _ in range(150)} == {200}
    begun = time.monotonic()
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(status, ["wrong"] * 300))
    # A hundred at once, and some more while it lasts.
    most = 101 + 5 * (time.monotonic() - begun)
    assert found.count(401) <= most
    assert 429 in found or most > 300
    assert status(KEY) == 200


def test_the_log_names_the_configuration(store: Store, tmp_path: Path) -> None:
    script = f"""
from rota.sdk.flask import create_app
app = create_app()
print(app.test_client().post("/events", json={GOOD!r}).json)
"""
    variables = {"ROTA_STORE": f"sqlite:///{tmp_path / 'rota.db'}"}
    ended = subprocess.run(
        [sys.executable, "-c", script], env=environment(**variables), capture_output=True, text=True, cwd=tmp_path
    )

    assert ended.returncode == 0, ended.stderr
    told = [line for line in ended.stderr.splitlines() if "job triggered" in line]
    assert ['"configuration":"c"' in line for line in told] == [True]


@pytest.mark.parametrize("is_away", [False, True])
def test_a_key_that_could_be_guessed_is_counted_only_if_it_is_wrong(store: Store, is_away: bool) -> None:
    """Nor if nobody knows, because the store is away."""
    faults = Faults(store)
    client = client_of(faults.store, "sesame")

    def status() -> int:
        return int(client.post("/events", json=GOOD, headers={"Authorization": "Bearer sesame"}).status_code)

    if is_away:
        faults.cut_off()
    found = {status() for _ in range(150)}

    faults.reconnect()
    assert found == {503 if is_away else 200}
    assert status() == 200


@pytest.mark.parametrize("own", ["dev_key", "chosen"])
def test_an_app_whose_settings_have_a_key_is_open_to_nobody_without_one(store: Store, own: str) -> None:
    """Not even if that key opens nothing, as the well-known one does here."""
    client = client_of(store, own)

    def status(**headers: str) -> int:
        return int(client.post("/events", json=GOOD, headers=headers).status_code)

    shown = {f"Bearer {own}": 200 if own == "chosen" else 401}
    assert [status(), *(status(Authorization=one) for one in shown)] == [401, *shown.values()]
