"""When a process of a worker makes room for a fresh one."""

from pathlib import Path

import pytest

from rota.engine.observation.happenings import JobsSettled
from rota.errors import InvalidInput
from rota.host.supervision.changes import FileChanges
from rota.host.supervision.limits import Limits, resident_bytes
from rota.model.job import Claim, Ending, JobSpec, JobState
from rota.model.runs.settlement import Settlement

GIB = 1 << 30


def settled(*ran: bool) -> JobsSettled:
    """Jobs that ended, or that were claimed ahead and given back."""
    spec = JobSpec(id="1", job_type="t", queue="q", enqueued_at=0)
    claim = Claim(spec=spec, token="n:1", rank=0, attempts=0, deaths=0)
    ending = Ending(state=JobState.SUCCEEDED, ended_at=2, started_at=1)
    return JobsSettled(
        "q",
        "n",
        [
            Settlement(claim, JobState.SUCCEEDED, attempts=1, deaths=0, ending=ending)
            if one
            else Settlement(claim, JobState.QUEUED, attempts=0, deaths=0)
            for one in ran
        ],
        {},
    )


def test_a_limit_of_jobs_is_told_once() -> None:
    told: list[str] = []
    limits = Limits(max_jobs=3, max_memory=None, on_reached=lambda: told.append("enough"))

    limits.count(settled(True, True))
    assert not told
    limits.count(settled(True, True))
    limits.count(settled(True))

    assert told == ["enough"]
    assert limits.is_over


def test_a_job_that_was_given_back_did_not_run() -> None:
    limits = Limits(max_jobs=2, max_memory=None, on_reached=lambda: None)

    limits.count(settled(False, False, True))

    assert not limits.is_over


def test_a_limit_of_memory_is_looked_for_now_and_then() -> None:
    told: list[str] = []
    limits = Limits(max_jobs=None, max_memory=resident_bytes() + GIB, on_reached=lambda: told.append("enough"))

    assert limits.run_once(0) > 0

    assert not told
    with pytest.raises(InvalidInput, match="MiB before its first job"):
        Limits(max_jobs=None, max_memory=resident_bytes() // 2, on_reached=lambda: None)


def test_changes_of_python_files_are_seen_once(tmp_path: Path) -> None:
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "one.py").write_text("1")
    (tmp_path / "environment").mkdir()
    (tmp_path / "environment" / "pyvenv.cfg").touch()
    changes = FileChanges(tmp_path)
    assert changes.changed() == []

    (tmp_path / "package" / "one.py").write_text("12")
    (tmp_path / "two.py").touch()
    (tmp_path / "notes.txt").touch()
    (tmp_path / ".hidden").mkdir()
    (tmp_path / ".hidden" / "three.py").touch()
    (tmp_path / "environment" / "four.py").touch()

    assert changes.changed() == [str(tmp_path / "package" / "one.py"), str(tmp_path / "two.py")]
    (tmp_path / "two.py").unlink()
    assert changes.changed() == [str(tmp_path / "two.py")]
    assert changes.changed() == []


@pytest.mark.parametrize("left_out", ["__pycache__", "node_modules", "site-packages", ".git"])
def test_files_that_nobody_edits_by_hand_are_not_looked_at(tmp_path: Path, left_out: str) -> None:
    (tmp_path / left_out / "package").mkdir(parents=True)
    changes = FileChanges(tmp_path)

    (tmp_path / left_out / "package" / "one.py").touch()

    assert changes.changed() == []


def test_of_a_huge_folder_only_so_many_files_are_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rota.host.supervision.changes.MOST_FILES", 3)
    changes = FileChanges(tmp_path)

    for number in range(5):
        (tmp_path / f"{number}.py").touch()

    assert len(changes.changed()) == 3


def test_where_the_system_does_not_tell_the_memory_of_now_the_most_so_far_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = resident_bytes()

    monkeypatch.setattr("rota.host.supervision.limits._STATM", tmp_path / "nothing")

    assert 0.9 * now < resident_bytes() < 1_000 * now


def test_a_limit_of_memory_is_told_once_it_is_reached(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    told: list[str] = []
    statm = tmp_path / "statm"
    statm.write_text("9999 99 0")
    monkeypatch.setattr("rota.host.supervision.limits._STATM", statm)
    monkeypatch.setattr("os.sysconf", lambda name: 4096)
    limits = Limits(max_jobs=None, max_memory=100 * 4096, on_reached=lambda: told.append("enough"))

    limits.run_once(0)
    assert told == []
    statm.write_text("9999 100 0")
    limits.run_once(0)
    limits.run_once(0)

    assert (told, limits.is_over) == (["enough"], True)
