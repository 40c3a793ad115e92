"""An environment as a stranger has it: Python, the wheel, and what the wheel says that it needs; nothing else.

The packages are copied from the environment of the tests, so that nothing is fetched: what the wheel forgets to name is
missing here, as it would be at a stranger's.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
DEADLINE_S = 600.0


def build(folder: Path) -> tuple[Path, Path]:
    """The sdist and the wheel."""
    variables = {**os.environ, "VENV": sys.prefix}
    subprocess.run([ROOT / "scripts/dist", folder], check=True, env=variables, timeout=DEADLINE_S, capture_output=True)
    return next(folder.glob("*.tar.gz")), next(folder.glob("*.whl"))


def install(wheel: Path, folder: Path, *, extras: Sequence[str] = ()) -> Path:
    """Make an environment with the wheel; gives the folder of its programs."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True, timeout=DEADLINE_S)
    programs = folder / "bin"
    pip = [str(programs / "python"), "-m", "pip", "--quiet", "install", "--no-deps", "--no-index", str(wheel)]
    subprocess.run(pip, check=True, timeout=DEADLINE_S)
    packages = next(folder.glob("lib/python3*/site-packages"))
    own = next(iter(Distribution.discover(name="rota", path=[str(packages)])))
    for name in sorted(needs(own, extras)):
        copy(distribution(name), packages)
    return programs


def needs(one: Distribution, extras: Sequence[str] = ()) -> set[str]:
    """The names of all packages that a package needs here, and those that they need."""
    found: set[str] = set()
    waiting = list(_named_by(one, extras))
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        if name not in found:
            found.add(name)
            waiting += _named_by(distribution(name), sorted(requirement.extras))
    return found


def _named_by(one: Distribution, extras: Sequence[str]) -> Iterator[Requirement]:
    for text in one.requires or []:
        requirement = Requirement(text)
        if requirement.marker is None or any(requirement.marker.evaluate({"extra": extra}) for extra in ["", *extras]):
            yield requirement


def copy(one: Distribution, packages: Path) -> None:
    """Copy a package's files, but not its programs, which are outside."""
    for file in one.files or []:
        source = Path(str(file.locate()))
        if ".." not in file.parts and source.exists():
            target = packages / file
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)
