"""What is released is built once for all tests of a process."""

from pathlib import Path
from typing import NamedTuple

import pytest

from tests.release import environment


class Release(NamedTuple):
    sdist: Path
    wheel: Path
    programs: Path
    """Where `rota` is, in an environment that has nothing but the wheel and what it needs for Redis."""


@pytest.fixture(scope="session")
def release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    sdist, wheel = environment.build(tmp_path_factory.mktemp("dist"))
    programs = environment.install(wheel, tmp_path_factory.mktemp("empty") / "rota", extras=["redis"])
    return Release(sdist, wheel, programs)
