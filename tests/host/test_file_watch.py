"""The configuration file of a running scheduler: it is gone, or cannot be read, and nothing that it defined goes."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from rota.engine.engine import Engine
from rota.errors import StoreUnavailable
from rota.host.file_watch import FileWatch, apply_file
from rota.settings import Settings, load_settings
from rota.store import Store
from rota.testing import Faults

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


class Reading:
    """Reads the file of a folder, and counts how often."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.times = 0

    def __call__(self) -> Settings:
        self.times += 1
        return load_settings({}, OWNER, None, self._folder)


def test_a_file_is_read_again_when_it_changed_or_could_not_be_used_and_its_trouble_is_told_once(
    folder: Path, opened: Store, caplog: pytest.LogCaptureFixture
) -> None:
    file, engine, read = folder / "rota.yaml", Engine.open(opened), Reading(folder)
    file.write_text(IN_YAML)
    watch = FileWatch("rota.yaml", engine.file, read)
    assert ([watch.run_once(0) for _ in range(2)], read.times) == ([1.0, 1.0], 0)

    broken(file)
    assert ([watch.run_once(0) for _ in range(3)], read.times) == ([5.0, 5.0, 5.0], 3)
    file.unlink()
    assert ([watch.run_once(0) for _ in range(2)], read.times) == ([1.0, 1.0], 5), "it comes back soon, as a rule"
    assert [one.levelname for one in caplog.records] == ["ERROR", "ERROR"]
    file.write_text(IN_YAML)
    assert ([watch.run_once(0) for _ in range(2)], read.times) == ([1.0, 1.0], 6)


def test_a_file_is_read_again_when_another_one_took_its_place(folder: Path, opened: Store) -> None:
    """As large, and as old: so does a link that is turned to another file, as clusters do with what they mount."""
    file, other, engine, read = folder / "rota.yaml", folder / "other", Engine.open(opened), Reading(folder)
    for one in (file, other):
        one.write_text(IN_YAML)
        os.utime(one, ns=(10**18, 10**18))
    watch = FileWatch("rota.yaml", engine.file, read)

    other.rename(file)
    watch.run_once(0)

    assert read.times == 1


def test_a_file_that_changed_while_the_store_was_away_is_brought_into_it_afterwards(
    folder: Path, opened: Store
) -> None:
    faults = Faults(opened)
    file, engine = folder / "rota.yaml", Engine.open(faults.store)
    file.write_text(IN_YAML)
    watch = FileWatch("rota.yaml", engine.file, Reading(folder))
    file.write_text(IN_YAML.replace("report", "invoice"))

    faults.cut_off()
    with pytest.raises(StoreUnavailable):
        watch.run_once(engine.clock.now())
    faults.reconnect()
    watch.run_once(engine.clock.now())

    assert [one.name for one in engine.definitions.job_types()] == ["invoice"]
