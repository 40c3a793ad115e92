"""The examples for web frameworks, each with the framework itself: a request makes a job, a worker runs it."""

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from starlette.testclient import TestClient

from rota import Rota
from tests.sdk.tasks.working import running_worker

EXAMPLES = Path(__file__).parents[2] / "examples"
pytestmark = pytest.mark.stores("sqlite-file", "redis")


@pytest.fixture
def example(
    request: pytest.FixtureRequest, store_url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Iterator[ModuleType]:
    """The example of this name, on an empty store."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ROTA_STORE", store_url)
    spec = importlib.util.spec_from_file_location(request.param, EXAMPLES / f"{request.param}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, request.param, module)
    spec.loader.exec_module(module)
    yield module
    tasks: Rota = module.tasks
    tasks.close()


@pytest.mark.parametrize("example", ["flask_shop"], indirect=True)
def test_a_flask_app_has_its_work_done(example: ModuleType) -> None:
    client = example.app.test_client()

    started = client.post("/fetches", json={"host": "acme"})
    before = client.get(started.headers["Location"]).get_json()
    example.tasks.run_worker(burst=True)

    assert started.status_code == 202
    assert before == {"status": "queued", "result": None}
    assert client.get(started.headers["Location"]).get_json() == {"status": "succeeded", "result": "what acme says"}


@pytest.mark.parametrize("example", ["fastapi_shop"], indirect=True)
def test_a_fastapi_app_has_its_work_done(example: ModuleType) -> None:
    with TestClient(example.app) as client:
        started = client.post("/fetches", json={"host": "acme"})
        path = f"/fetches/{started.json()['job']}"
        before = client.get(path).json()

        with running_worker(example.tasks):
            ended = client.get(path, params={"wait": 60}).json()

    assert started.status_code == 202
    assert before == {"status": "queued", "result": None}
    assert ended == {"status": "succeeded", "result": "what acme says"}
