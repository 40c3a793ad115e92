"""Executors are found by name, whether built in or plugged in."""

import asyncio
import logging
import sys
from pathlib import Path

import pytest

from rota.engine.executors.bash.bash import BashExecutor
from rota.engine.executors.registry import BUILT_IN, ExecutorRegistry
from rota.errors import InvalidInput

PLUG_IN = """
closed = []

class Greeter:
    def check(self, job_type): ...
    async def run(self, run): ...
    async def close(self): closed.append(self)

class BadlyClosing(Greeter):
    async def close(self): raise RuntimeError("no")

class Nothing: ...

def broken(): raise RuntimeError("the licence is gone")
"""


def install(folder: Path, monkeypatch: pytest.MonkeyPatch, package: str, **entry_points: str) -> None:
    """Lay a package out as an installer does, and put it on the path."""
    info = folder / f"{package}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    lines = [f"{name} = {target}" for name, target in entry_points.items()]
    (info / "entry_points.txt").write_text("\n".join(["[rota.executors]", *lines]))
    module = f"{package}_module"
    (folder / f"{module}.py").write_text(PLUG_IN)
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.delitem(sys.modules, module, raising=False)


def test_every_built_in_executor_can_be_had() -> None:
    registry = ExecutorRegistry()

    for name in BUILT_IN:
        assert callable(registry.get(name).run)
        assert name in registry.names()
    assert isinstance(registry.get("bash"), BashExecutor)


def test_an_executor_is_made_once() -> None:
    registry = ExecutorRegistry()

    assert registry.get("log") is registry.get("log")


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(InvalidInput, match="did you mean 'bash'") as caught:
        ExecutorRegistry().get("bsh")

    assert caught.value.field == "executor"


def test_a_plug_in_is_found_made_and_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, monkeypatch, "greet", greeter="greet_module:Greeter", bad="greet_module:BadlyClosing")
    registry = ExecutorRegistry()

    bad, greeter = registry.get("bad"), registry.get("greeter")
    asyncio.run(registry.close())

    assert bad is not greeter
    assert {"greeter", "bad", "bash"} <= set(registry.names())
    assert sys.modules["greet_module"].closed == [greeter]


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("lame_module:broken", "RuntimeError: the licence is gone"),
        ("lame_module:missing", "AttributeError"),
        ("no_such_module_anywhere:x", "ModuleNotFoundError"),
        ("lame_module:Nothing", "it lacks check, run, close"),
    ],
)
def test_a_broken_plug_in_is_named_with_its_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str, said: str
) -> None:
    install(tmp_path, monkeypatch, "lame", lame=target)

    with pytest.raises(InvalidInput) as caught:
        ExecutorRegistry().get("lame")

    assert "'lame' of lame" in caught.value.reason
    assert said in caught.value.reason


def test_a_plug_in_cannot_take_the_name_of_a_built_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    install(tmp_path, monkeypatch, "thief", bash="thief_module:Greeter")
    registry = ExecutorRegistry()

    with caplog.at_level(logging.WARNING):
        registry.names()

    assert isinstance(registry.get("bash"), BashExecutor)
    assert "name of a built-in executor" in caplog.text


def test_two_plug_ins_of_one_name_are_refused_with_both_packages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path / "a", monkeypatch, "one", greeter="one_module:Greeter")
    install(tmp_path / "b", monkeypatch, "two", greeter="two_module:Greeter")

    with pytest.raises(InvalidInput, match="one, two"):
        ExecutorRegistry().get("greeter")
