"""The configuration file of a running scheduler: it is gone, or cannot be read, and nothing that it defined goes."""

from collections.abc import Callable
from pathlib import Path

import pytest

from rota.engine.engine import Engine
from rota.host.file_watch import FileWatch, apply_file
from rota.settings import load_settings
from rota.store import Store

IN_YAML = "job_types: [{name: report, executor: log}]\n"
IN_TOML = "[[tool.rota.job_types]]\nname = 'report'\nexecutor = 'log'\n"
OWNER = {"ROTA_OWNER": "shop"}
"""Whose definitions they are is known without the file, too."""


def gone(file: Path) -> None:
    file.unlink()


def broken(file: Path) -> None:
    file.write_text(file.read_text() + "[[[")


def unreadable(file: Path) -> None:
    """For root, too."""
    file.unlink()
    file.symlink_to("/proc/self/mem")


@pytest.mark.parametrize("spoil", [gone, broken, unreadable])
@pytest.mark.parametrize(("name", "text"), [("rota.yaml", IN_YAML), ("pyproject.toml", IN_TOML)], ids=["yaml", "toml"])
def test_a_file_that_cannot_be_used_removes_nothing_until_it_can(
    name: str,
    text: str,
    spoil: Callable[[Path], None],
    folder: Path,
    opened: Store,
    caplog: pytest.LogCaptureFixture,
) -> None:
    file, engine = folder / name, Engine.open(opened)
    file.write_text(text)
    settings = load_settings({}, OWNER, None, folder)
    apply_file(engine.file, settings, engine.clock.now())
    watch = FileWatch(name, engine.file, lambda: load_settings({}, OWNER, None, folder))

    spoil(file)
    watch.run_once(engine.clock.now())
    assert [one.name for one in engine.definitions.job_types()] == ["report"]
    assert "the configuration file cannot be used" in caplog.text

    file.unlink(missing_ok=True)
    file.write_text(text.replace("report", "invoice"))
    watch.run_once(engine.clock.now())
    assert [one.name for one in engine.definitions.job_types()] == ["invoice"]
