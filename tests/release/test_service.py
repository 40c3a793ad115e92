"""The unit for systemd: systemd understands it, and what it starts is there."""

import shutil
import subprocess
from configparser import RawConfigParser
from pathlib import Path

import pytest

from rota.settings.settings import Settings
from tests.cli.calling import rota
from tests.release.conftest import Release
from tests.release.environment import ROOT

UNIT = ROOT / "contrib/systemd/rota.service"


def service() -> dict[str, str]:
    parser = RawConfigParser(strict=False)
    parser.optionxform = str  # type: ignore[assignment,method-assign]  # systemd's names are not in lower case
    parser.read_string(UNIT.read_text())
    return dict(parser["Service"])


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="this machine has no systemd-analyze")
def test_systemd_finds_nothing_wrong_with_it(release: Release, tmp_path: Path) -> None:
    unit = tmp_path / UNIT.name
    unit.write_text(UNIT.read_text().replace("/opt/rota/bin", str(release.programs)))

    ended = subprocess.run(["systemd-analyze", "verify", "--man=no", unit], capture_output=True, text=True)

    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")


def test_it_starts_a_command_that_there_is_and_gives_jobs_time_to_end() -> None:
    words = service()["ExecStart"].split()

    assert words[0].endswith("/bin/rota")
    assert rota(*words[1:], "--help").exit_code == 0
    assert int(service()["TimeoutStopSec"]) > Settings().stop_grace_s
    assert service()["KillMode"] == "mixed", "a signal to the jobs' processes would fail them at every stop"
