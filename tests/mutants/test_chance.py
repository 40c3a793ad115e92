"""Changes drawn by chance are changes, and can be tried."""

from pathlib import Path

import pytest

from tests.mutants.chance import draw, place_of_tests
from tests.mutants.table import ROOT, faults_of


@pytest.mark.parametrize("seed", range(5))
def test_drawn_changes_can_be_made_and_tried(seed: int) -> None:
    drawn = draw(40, seed)

    assert len(drawn) == 40
    assert [fault for mutant in drawn for fault in faults_of(mutant)] == []


def test_the_same_seed_draws_the_same_changes_and_another_one_others() -> None:
    assert draw(20, 3) == draw(20, 3)
    assert draw(20, 3) != draw(20, 4)


def test_only_files_of_the_named_folder_are_changed() -> None:
    drawn = draw(30, 1, under="store/redis")

    assert {mutant.file.split("/")[3] for mutant in drawn} == {"redis"}
    assert {Path(mutant.file).suffix for mutant in drawn} == {".lua", ".py"}


def test_the_longest_beginning_of_a_path_chooses_the_tests() -> None:
    inner, outer = (
        place_of_tests(ROOT, ROOT / "src/rota/model/events/event.py"),
        place_of_tests(ROOT, ROOT / "src/rota/model/job.py"),
    )

    assert inner is not None
    assert inner.startswith("tests/model/events ")
    assert outer is not None
    assert outer.startswith("tests/model ")
    assert place_of_tests(ROOT, ROOT / "src/rota/sdk/django/backend.py") is None


def test_every_room_has_tests_for_what_is_drawn_there() -> None:
    rooms = [path for path in (ROOT / "src/rota").iterdir() if (path / "__init__.py").exists()]

    assert [room.name for room in rooms if place_of_tests(ROOT, room / "__init__.py") is None] == []


def test_the_files_beside_the_rooms_are_changed_too() -> None:
    files = [path for path in (ROOT / "src/rota").glob("*.py") if not path.name.startswith("__")]

    assert files
    assert [file.name for file in files if place_of_tests(ROOT, file) is None] == []
    assert {mutant.file for mutant in draw(5, 1, under="clock.py")} == {"src/rota/clock.py"}


def test_words_that_choose_the_tests_of_a_room_leave_what_is_tested_of_all() -> None:
    rooms = [path for path in (ROOT / "src/rota").rglob("__init__.py") if place_of_tests(ROOT, path)]
    by_words = {words for room in rooms if (words := (place_of_tests(ROOT, room) or "").partition(" -k ")[2])}

    assert by_words
    assert [words for words in by_words if not words.startswith("'not ") and "frozen" not in words] == []
