"""Which zone this machine is set to: an imported crontab fires by it."""

from pathlib import Path

import pytest

from rota.settings import machine_zone as module
from rota.settings.machine_zone import machine_zone


@pytest.fixture(autouse=True)
def etc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine that says nothing."""
    monkeypatch.delenv("TZ", raising=False)
    monkeypatch.setattr(module, "_LOCALTIME", tmp_path / "localtime")
    monkeypatch.setattr(module, "_TIMEZONE", tmp_path / "timezone")
    return tmp_path


def link(etc: Path, zone: str) -> None:
    (etc / "localtime").symlink_to(f"/usr/share/zoneinfo/{zone}")


def test_a_machine_that_says_nothing_is_in_utc() -> None:
    assert machine_zone() == "UTC"


@pytest.mark.parametrize("word", ["America/New_York", ":America/New_York"])
def test_the_variable_beats_the_link_which_beats_the_name(
    etc: Path, monkeypatch: pytest.MonkeyPatch, word: str
) -> None:
    (etc / "timezone").write_text("Asia/Tokyo\n")
    by_name = machine_zone()
    link(etc, "Europe/Berlin")
    by_link = machine_zone()
    monkeypatch.setenv("TZ", word)

    assert (by_name, by_link, machine_zone()) == ("Asia/Tokyo", "Europe/Berlin", "America/New_York")


def test_what_is_no_zone_is_passed_over(etc: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3")
    link(etc, "Nowhere/Land")
    (etc / "timezone").write_text("Asia/Tokyo\n")

    assert machine_zone() == "Asia/Tokyo"
