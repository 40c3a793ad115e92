"""The OpenAPI document against a running server: whatever the document allows is answered as the document says.

`ROTA_TEST_SCHEMA_CASES=150` generates more cases per operation; `schemathesis.toml` says how to run it by hand.
"""

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from tests.cli.calling import RotaProcess, environment
from tests.seeds.curling import Curl
from tests.servers import RedisServer

CONFIG = Path(__file__).with_name("schemathesis.toml")
CASES = os.environ.get("ROTA_TEST_SCHEMA_CASES", "3")


@pytest.fixture(params=["sqlite", "redis"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'rota.db'}"
    server: RedisServer = request.getfixturevalue("redis_server")
    server.flush()
    return server.url


def fill(curl: Curl) -> None:
    """Something of every kind. Names and ids are such as schemathesis likes to try first."""
    curl.post("/api/job_types", {"name": "0", "executor": "log"})
    for arguments in ({}, {"command": ["\u202e", "\x1b", "é"]}, {"deep": [[[{"a": None}]]]}):
        curl.post("/api/jobs", {"job_type_uuid": "0", "arguments": arguments})
        cancelled = curl.post("/api/jobs", {"job_type_uuid": "0", "arguments": arguments, "delay": 10**9})
        curl.post(f"/api/jobs/{cancelled['uuid']}/cancel", {})
    curl.post("/api/schedules", {"name": "0", "job_type": "0", "cron": "0 0 1 1 *"})
    needed = {"type": "FILE", "resourceId": "0", "lifeDuration": 60}
    curl.post("/api/configurations", {"name": "0", "dependencies": [needed, {**needed, "resourceId": "1"}]})
    curl.post("/events", {"eventType": "FILE", "eventTimestamp": "2026-01-01T00:00:00Z", "eventResourceId": "0"})


@pytest.mark.timeout(3600)
def test_the_server_does_what_its_document_says(tmp_path: Path, store: str) -> None:
    with RotaProcess(["server", "--port", "0", "--json", "--store", store], tmp_path, ROTA_RATE_LIMIT="0") as server:
        banner = server.banner()
        fill(Curl(banner["address"], banner["api_key"]))

        words = ["--config-file", str(CONFIG), "run", f"{banner['address']}/openapi.json"]
        words += ["-H", f"Authorization: Bearer {banner['api_key']}", "--max-examples", CASES]
        words += ["--generation-deterministic", "--continue-on-failure", "--suppress-health-check", "all"]
        words += ["--request-timeout", "300"]  # a slow machine is no fault of the server
        run = subprocess.run(
            [sys.executable, "-m", "schemathesis.cli", *words],
            capture_output=True,
            text=True,
            env=environment(),
            cwd=tmp_path,
        )
        faults = server.log_errors()
        assert server.stop() == 0

    assert run.returncode == 0, run.stdout[-20_000:] + run.stderr
    assert faults == [], msgspec.json.encode(faults).decode()
