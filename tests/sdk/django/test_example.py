"""The example project, in processes as users start them: a request makes a job, a worker runs it."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("django.tasks", reason="django.tasks came with Django 6, which needs Python 3.12")

from tests.cli.calling import DEADLINE_S, environment

PROJECT = Path(__file__).parents[3] / "examples" / "django_shop"
POST = """
from django.test import Client
print(Client().post("/fetches", {"host": "acme"}, content_type="application/json").headers["Location"])
"""
GET = """
from django.test import Client
print(Client().get("{}").content.decode())
"""


def call(folder: Path, *words: str) -> str:
    """What a Python program prints that must end well."""
    variables = environment(ROTA_STORE=f"sqlite:///{folder}/rota.db", DJANGO_SETTINGS_MODULE="shop.settings")
    ended = subprocess.run(
        [sys.executable, *words], cwd=PROJECT, capture_output=True, text=True, env=variables, timeout=DEADLINE_S
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.strip().splitlines()[-1] if ended.stdout.strip() else ""


@pytest.mark.parametrize("worker", [["manage.py", "rota_worker"], ["-m", "rota", "worker"]])
def test_a_request_has_its_work_done_by_either_worker(folder: Path, worker: list[str]) -> None:
    location = call(folder, "manage.py", "shell", "--no-imports", "--command", POST)
    before = call(folder, "manage.py", "shell", "--no-imports", "--command", GET.format(location))

    call(folder, *worker, "--burst")

    assert before == '{"status": "READY", "result": null}'
    ended = call(folder, "manage.py", "shell", "--no-imports", "--command", GET.format(location))
    assert ended == '{"status": "SUCCESSFUL", "result": "what acme says"}'
