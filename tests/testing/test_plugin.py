"""The pytest plugin, in a project of a user's."""

import os
import subprocess
import sys
from pathlib import Path

from tests.patience import LONG_DEADLINE_S


def assert_one_passes(folder: Path) -> None:
    """Options of ours that stand in the environment are not theirs."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_theirs.py"]
    ended = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "PYTEST_ADDOPTS": ""},
        capture_output=True,
        text=True,
        timeout=LONG_DEADLINE_S,
        check=False,
    )
    assert "1 passed" in ended.stdout, ended.stdout + ended.stderr


def test_whoever_installs_rota_has_its_fixtures(tmp_path: Path) -> None:
    (tmp_path / "test_theirs.py").write_text(
        "from rota.testing import Installation, ManualClock\n\n\n"
        "def test_theirs(rota_installation, rota_clock, rota_faults):\n"
        "    assert isinstance(rota_installation, Installation)\n"
        "    assert isinstance(rota_clock, ManualClock)\n"
        "    assert rota_faults is rota_installation.faults\n"
    )

    assert_one_passes(tmp_path)


def test_a_session_that_needs_no_fixture_imports_nothing_of_the_engine(tmp_path: Path) -> None:
    (tmp_path / "test_theirs.py").write_text(
        "import sys\n\n\n"
        "def test_theirs():\n"
        "    assert not [name for name in sys.modules if name.startswith(('rota.engine', 'rota.store', 'rota.sdk'))]\n"
    )

    assert_one_passes(tmp_path)
