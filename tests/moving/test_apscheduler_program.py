"""A program of APScheduler's, with its imports changed and nothing else."""

from pathlib import Path

from tests.moving.moved import changed_lines, move, run

PROGRAM = "apscheduler_clock.py.txt"
SAID = """\
hi ada
sum is 42
broken failed: out of order
['nightly', 'often', 'summer']
05:30 True
None
True
conflict
12:00:00
gone
over
"""


def test_a_program_of_apscheduler_s_runs_with_its_imports_changed(folder: Path) -> None:
    moved = move(PROGRAM, "apscheduler", folder, "clock.py")
    assert all("import" in line for line in changed_lines(PROGRAM, moved))

    assert run(folder, "clock.py") == SAID
