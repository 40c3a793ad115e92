"""A wrong argument is an error in mypy, and a right one is not."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
CALLS = Path(__file__).with_name("typed_calls.py")
_SAID = re.compile(r"typed_calls\.py:(\d+): error: .*(\[[\w-]+\])$", re.MULTILINE)
_EXPECTED = re.compile(r"# error: (\[[\w-]+\])$")


def test_mypy_accepts_right_calls_of_tasks_and_rejects_wrong_ones() -> None:
    said = subprocess.run([sys.executable, "-m", "mypy", str(CALLS)], capture_output=True, text=True, cwd=ROOT).stdout

    found = {(int(line), code) for line, code in _SAID.findall(said)}
    lines = enumerate(CALLS.read_text().splitlines(), start=1)
    assert found == {(number, error[1]) for number, line in lines if (error := _EXPECTED.search(line))}, said
