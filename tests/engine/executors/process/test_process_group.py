"""Whether anybody in a process group is alive."""

import subprocess
from pathlib import Path

import pytest

from rota.engine.executors.process.process_group import has_living_member, unkillable_members
from tests.engine.executors.foreign import AS_ANOTHER, needs_root, no_right_to_kill
from tests.processes import is_alive
from tests.servers import wait_until
from tests.shortage import no_descriptors


def test_a_group_lives_as_long_as_one_of_its_processes_but_not_in_its_zombies() -> None:
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, process_group=0) as child:
        assert has_living_member(child.pid)

        child.kill()
        wait_until(lambda: not is_alive(child.pid), "its end")

        assert not has_living_member(child.pid)
    assert not has_living_member(child.pid)


@needs_root
def test_a_group_of_another_user_lives_too_and_cannot_be_killed() -> None:
    with subprocess.Popen([*AS_ANOTHER, "cat"], stdin=subprocess.PIPE, process_group=0) as child:
        wait_until(lambda: Path(f"/proc/{child.pid}/comm").read_text() == "cat\n", "its start")

        with no_right_to_kill():
            assert has_living_member(child.pid)
            assert unkillable_members(child.pid) == (f"{child.pid} (cat)",)

        assert unkillable_members(child.pid) == ()


@pytest.mark.parametrize("left", [0, 1])
def test_a_group_that_cannot_be_looked_at_for_want_of_descriptors_lives(left: int) -> None:
    """The one that is left is for the list of all processes; then none can be read."""
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, process_group=0) as child, no_descriptors(but=left):
        assert has_living_member(child.pid)
