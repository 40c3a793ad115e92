"""Programs that were written for another library, with nothing but their imports changed."""

import re
import subprocess
import sys
from pathlib import Path

from tests.cli.calling import environment
from tests.patience import LONG_DEADLINE_S

PROGRAMS = Path(__file__).parent / "programs"


def move(program: str, library: str, folder: Path, name: str) -> str:
    """Put a program into a folder, and change what it imports of the library."""
    text = (PROGRAMS / program).read_text()
    named = re.sub(rf"^import {library}$", f"import rota.moving.{library} as {library}", text, flags=re.MULTILINE)
    moved = re.sub(rf"^from {library}\b", f"from rota.moving.{library}", named, flags=re.MULTILINE)
    (folder / name).write_text(moved)
    return moved


def changed_lines(program: str, moved: str) -> list[str]:
    """Lines of a program that are not as they were."""
    before, after = (PROGRAMS / program).read_text().splitlines(), moved.splitlines()
    assert len(before) == len(after)
    return [new for old, new in zip(before, after, strict=True) if old != new]


def run(folder: Path, *words: str, **variables: str) -> str:
    """What a program prints that must end well."""
    ended = subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        capture_output=True,
        text=True,
        env={**environment(), **variables},
        timeout=4 * LONG_DEADLINE_S,  # a program waits for many jobs, one after the other
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout
