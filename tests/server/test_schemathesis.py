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

CONFIG = Path(__file__).with_name("schemathesis.toml")
CASES = os.environ.get("ROTA_TEST_SCHEMA_CASES", "3")


@pytest.mark.timeout(3600)
def test_the_server_does_what_its_document_says(tmp_path: Path) -> None:
    with RotaProcess(["server", "--port", "0", "--json"], tmp_path, ROTA_RATE_LIMIT="0") as server:
        banner = server.banner()
        Curl(banner["address"], banner["api_key"]).post("/api/job_types", {"name": "0", "executor": "log"})

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
        faults = [line for line in server.log_lines() if line["level"] == "error"]
        assert server.stop() == 0

    assert run.returncode == 0, run.stdout[-20_000:] + run.stderr
    assert faults == [], msgspec.json.encode(faults).decode()
