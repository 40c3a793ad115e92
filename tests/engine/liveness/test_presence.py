"""Lock files: what the kernel knows of the nodes of this machine."""

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

from rota.engine.liveness.presence import Presence, run_folder
from tests.engine.executors.hearing import Descriptors

HOLD = """
import sys
from pathlib import Path
from rota.engine.liveness.presence import Presence
Presence(Path(sys.argv[1])).hold("node")
print("held", flush=True)
sys.stdin.read()
"""
FORKING = """
import os, sys
from pathlib import Path
from rota.engine.liveness.presence import Presence
folder = Path(sys.argv[1])
presence = Presence(folder)
presence.hold("node")
"""
"""What programs begin with that hold a node and have a copy of themselves, which does not become another program."""
FORKS_AFTER_ITS_NODE = (
    FORKING
    + """
presence.release("node")
own = os.open(folder / "own", os.O_WRONLY | os.O_CREAT)
if os.fork() == 0:
    os.write(own, b"written")
    os._exit(0)
sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))
"""
)
IS_OUTLIVED = (
    FORKING
    + """
if os.fork() == 0:
    print("forked", flush=True)
    sys.stdin.read()
else:
    os.wait()
"""
)
COPY_RELEASES = (
    FORKING
    + """
if os.fork() == 0:
    own = os.open(folder / "own", os.O_WRONLY | os.O_CREAT)
    presence.release("node")
    os.write(own, b"written")
    os._exit(presence.gone(["node"]) != [])
sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))
"""
)
JUDGES = (
    FORKING
    + """
if os.fork() == 0:
    os._exit(presence.is_here("node"))
sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))
"""
)


@pytest.fixture
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the folder for lock files is made."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return tmp_path


def test_a_process_that_was_killed_is_known_to_be_gone(tmp_path: Path) -> None:
    watcher = Presence(tmp_path)
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        alive = watcher.gone(["node"])
        process.kill()
        process.wait()

    assert alive == []
    assert watcher.gone(["node", "another"]) == ["node"]


def test_a_program_that_forks_after_its_node_has_ended_keeps_its_files_in_the_copy(tmp_path: Path) -> None:
    """The file that it opens next has the number that the lock had."""
    subprocess.run([sys.executable, "-c", FORKS_AFTER_ITS_NODE, str(tmp_path)], check=True)

    assert (tmp_path / "own").read_text() == "written"


def test_a_forked_copy_of_a_process_does_not_pass_for_its_node(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", IS_OUTLIVED, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"forked\n"
        process.kill()
        process.wait()

        assert Presence(tmp_path).gone(["node"]) == ["node"]


def test_a_forked_copy_of_a_process_does_not_release_its_node(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", COPY_RELEASES, str(tmp_path)], check=True)

    assert (tmp_path / "own").read_text() == "written"
    assert (tmp_path / "node").exists()


def test_a_forked_copy_of_a_process_may_judge_its_parents_node(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", JUDGES, str(tmp_path)], check=True)


def test_two_who_look_at_the_same_time_do_not_take_each_other_for_the_node(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "node").touch()
    first, second = Presence(tmp_path), Presence(tmp_path)
    seen_meanwhile: list[list[str]] = []
    really_close = os.close

    def look_before_closing(descriptor: int) -> None:
        if not seen_meanwhile:
            seen_meanwhile.append([])  # not again while the other looks
            seen_meanwhile.append(second.gone(["node"]))
        really_close(descriptor)

    monkeypatch.setattr(os, "close", look_before_closing)

    assert first.gone(["node"]) == ["node"]
    assert seen_meanwhile[1] == ["node"]


def test_nothing_is_known_without_a_folder(tmp_path: Path) -> None:
    nowhere = Presence(None)
    nowhere.hold("node")

    assert nowhere.gone(["node"]) == []
    nowhere.release("node")
    nowhere.forget("node")
    assert list(tmp_path.iterdir()) == []


def test_a_node_without_a_file_is_not_known_to_be_gone(tmp_path: Path) -> None:
    assert Presence(tmp_path).gone(["node"]) == []
    assert Presence(tmp_path / "no such folder").gone(["node"]) == []


def test_a_folder_that_cannot_be_used_keeps_no_node_from_starting(tmp_path: Path) -> None:
    presence = Presence(tmp_path / "no such folder")

    presence.hold("node")
    presence.release("node")


def test_a_node_whose_file_cannot_be_locked_is_not_taken_for_dead_and_leaves_no_descriptor(tmp_path: Path) -> None:
    in_the_way = os.open(tmp_path / "node", os.O_RDWR | os.O_CREAT)
    fcntl.flock(in_the_way, fcntl.LOCK_EX)
    before = Descriptors()
    presence = Presence(tmp_path)

    presence.hold("node")

    before.await_no_more()
    os.close(in_the_way)
    assert Presence(tmp_path).gone(["node"]) == []
    presence.release("node")


def test_the_file_of_a_dead_node_can_be_forgotten(tmp_path: Path) -> None:
    (tmp_path / "node").touch()

    Presence(tmp_path).forget("node")

    assert list(tmp_path.iterdir()) == []


def test_the_folder_belongs_to_this_user_and_this_start_of_the_machine(base: Path) -> None:
    folder = run_folder()

    assert folder is not None
    assert folder.parent == base
    assert folder.stat().st_mode & 0o777 == 0o700
    assert f"-{os.getuid()}-" in folder.name
    assert run_folder() == folder


@pytest.mark.parametrize("mode", [0o720, 0o702, 0o777])
def test_a_folder_that_others_may_write_is_not_trusted(base: Path, mode: int) -> None:
    folder = run_folder()
    assert folder is not None

    folder.chmod(mode)

    assert run_folder() is None


def test_a_folder_that_is_a_link_or_a_file_is_not_trusted(base: Path) -> None:
    folder = run_folder()
    assert folder is not None
    folder.rmdir()
    (base / "elsewhere").mkdir(mode=0o700)

    folder.symlink_to(base / "elsewhere")
    assert run_folder() is None

    folder.unlink()
    folder.touch(mode=0o600)
    assert run_folder() is None
