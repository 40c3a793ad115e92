"""Sdist and wheel: complete, and the wheel runs where nothing but its own needs are installed."""

import subprocess
import tarfile
import zipfile
from pathlib import Path

from rota import __version__
from tests.cli.calling import RotaProcess
from tests.cli.run.test_up import ended_jobs, get
from tests.release.conftest import Release
from tests.release.environment import ROOT
from tests.servers import wait_until


def files_of_package() -> set[str]:
    package = ROOT / "src/rota"
    kept = (path for path in package.rglob("*") if path.is_file() and path.parent.name != "__pycache__")
    return {f"rota/{path.relative_to(package)}" for path in kept}


def test_the_wheel_has_every_file_of_the_package(release: Release) -> None:
    names = set(zipfile.ZipFile(release.wheel).namelist())

    assert files_of_package() <= names
    assert {name.split("/")[0] for name in names} == {"rota", f"rota-{__version__}.dist-info"}


def test_the_sdist_has_what_it_takes_to_build_test_and_deploy(release: Release) -> None:
    with tarfile.open(release.sdist) as archive:
        names = {Path(name).parts[1] for name in archive.getnames()}

    wanted = {"Dockerfile", "LICENSE", "Makefile", "README.md", "compose.yaml", "contrib", "scripts", "src", "tests"}
    assert wanted <= names


def test_up_of_the_wheel_runs_jobs_and_answers(release: Release, tmp_path: Path) -> None:
    with RotaProcess(["up", "--port", "0", "--json"], tmp_path, release.programs / "rota") as up:
        banner = up.banner()
        up.until(lambda: {"demo.hello", "demo.count"} <= set(ended_jobs(up)), "the demo's jobs to end")

        assert banner["version"] == __version__
        wait_until(lambda: get(f"{banner['address']}/health") == (200, "ok"), "it to be well")
        assert get(f"{banner['address']}/api", banner["api_key"])[0] == 200
        assert up.stop() == 0


def test_every_verb_of_the_wheel_can_be_loaded(release: Release, tmp_path: Path) -> None:
    """`--help` of the whole command names verbs without loading them; here each one's module is."""
    load = "from rota.cli.main import cli; c = cli.make_context('rota', ['version'])\n"
    load += "for name in cli.list_commands(c): cli.get_command(c, name)"

    ended = subprocess.run(
        [release.programs / "python", "-I", "-c", load], cwd=tmp_path, capture_output=True, text=True
    )

    assert ended.returncode == 0, ended.stderr
