"""The example project, in processes as users start them: a request makes a job, a worker runs it."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("django.tasks", reason="django.tasks came with Django 6, which needs Python 3.12")

from tests.cli.calling import environment
from tests.patience import LONG_DEADLINE_S

PROJECT = Path(__file__).parents[3] / "examples" / "django_shop"
POST = """
from django.test import Client
print(Client().post("/fetches", {"host": "acme"}, content_type="application/json").headers["Location"])
"""
ORDER = """
from django.test import Client
print(Client().post("/orders", {}, content_type="application/json").content.decode())
"""
GET = """
from django.test import Client
print(Client().get("{}").content.decode())
"""


def variables(folder: Path) -> dict[str, str]:
    return environment(
        ROTA_STORE=f"sqlite:///{folder}/rota.db",
        SHOP_DATABASE=f"{folder}/shop.db",
        DJANGO_SETTINGS_MODULE="shop.settings",
    )


def call(folder: Path, *words: str) -> str:
    """What a Python program prints that must end well."""
    command = [sys.executable, *words]
    ended = subprocess.run(
        command, cwd=PROJECT, capture_output=True, text=True, env=variables(folder), timeout=LONG_DEADLINE_S
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.strip().splitlines()[-1] if ended.stdout.strip() else ""


def shell(folder: Path, code: str) -> str:
    return call(folder, "manage.py", "shell", "--no-imports", "--command", code)


@pytest.mark.parametrize("worker", [["manage.py", "rota_worker"], ["-m", "rota", "worker"]])
def test_a_request_has_its_work_done_by_either_worker(folder: Path, worker: list[str]) -> None:
    call(folder, "manage.py", "migrate", "--verbosity", "0")
    location = shell(folder, POST)
    before = shell(folder, GET.format(location))

    call(folder, *worker, "--burst")

    assert before == '{"status": "READY", "result": null}'
    assert shell(folder, GET.format(location)) == '{"status": "SUCCESSFUL", "result": "what acme says"}'


def order(folder: Path, **asked: object) -> dict[str, object]:
    found: dict[str, object] = json.loads(shell(folder, ORDER.replace("{}", repr(asked))))
    return found


def test_an_order_and_its_receipt_are_made_both_or_none(folder: Path) -> None:
    call(folder, "manage.py", "migrate", "--verbosity", "0")
    made = order(folder, item="a book")
    order(folder, item="a pen", sold_out=True)

    told = call(folder, "manage.py", "rota_relay", "--burst")
    call(folder, "-m", "rota", "worker", "--burst")

    assert told == "relayed 1 tasks from the database 'default'"
    assert shell(folder, GET.format(f"/orders/{made['order']}")) == '{"receipt": "receipt of order 1: a book"}'


@pytest.mark.parametrize("commands", [[["rota_worker"]], [["rota_relay"], ["rota_worker", "--burst"]]])
def test_tasks_of_committed_transactions_are_noticed_by_who_runs_already(
    folder: Path, commands: list[list[str]]
) -> None:
    call(folder, "manage.py", "migrate", "--verbosity", "0")
    first, *others = [[sys.executable, "manage.py", *words] for words in commands]
    running = subprocess.Popen(first, cwd=PROJECT, env=variables(folder))
    try:
        made = order(folder, item="a book")
        until = time.monotonic() + LONG_DEADLINE_S
        while "a book" not in shell(folder, GET.format(f"/orders/{made['order']}")):
            assert time.monotonic() < until
            for words in others:
                subprocess.run(words, cwd=PROJECT, env=variables(folder), check=True, timeout=LONG_DEADLINE_S)

        running.send_signal(signal.SIGTERM)
        assert running.wait(LONG_DEADLINE_S) == 0
    finally:
        running.kill()
        running.wait()
