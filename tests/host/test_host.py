"""What the settings of a node make of its server."""

from pathlib import Path

import pytest
from starlette.testclient import TestClient

from rota.engine.keys.admin_key import prepare_key
from rota.host.host import Host
from rota.server.app import make_app
from rota.settings import Settings, load_settings
from rota.store import Store

EVENT = {"eventType": "SHIPMENT", "eventTimestamp": "2026-01-01T00:00:00", "eventResourceId": "42"}


def settings_of(folder: Path, text: str) -> Settings:
    (folder / "rota.yaml").write_text(text)
    return load_settings({}, {}, None, folder)


def statuses(settings: Settings, store: Store, *paths: str) -> list[int]:
    """What a client without a key is answered, and then one with the key of the settings who posts an event."""
    api = Host.open(settings, store, frozenset({"server"})).make_api(
        prepare_key(store, configured=settings.api_key, is_loopback=True)
    )
    client = TestClient(make_app(api))
    found = [client.get(path).status_code for path in paths]
    key = {"Authorization": f"Bearer {settings.api_key or 'dev_key'}"}
    found += [client.post("/events", json=EVENT, headers=key).status_code for _ in range(5)]
    api.close()
    return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("log_level: INFO\n", [401, 401, 400, 400, 400, 400, 400]),
        ("server:\n  metrics_open: true\n", [200, 401, 400, 400, 400, 400, 400]),
        ("server:\n  rate_limit: 1\n", [401, 401, 400, 400, 429, 429, 429]),
        ("server:\n  api_key: secret\n", [401, 401, 400, 400, 400, 400, 400]),
        ("event_types: [SHIPMENT]\n", [401, 401, 200, 200, 200, 200, 200]),
    ],
)
def test_each_setting_reaches_the_server(folder: Path, opened: Store, text: str, expected: list[int]) -> None:
    assert statuses(settings_of(folder, text), opened, "/metrics", "/api/jobs") == expected
