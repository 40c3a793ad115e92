"""Every entry of every table still fits the code, so that `make mutants` can try it."""

import sys
from collections import Counter
from pathlib import Path

import pytest
from msgspec import structs

from tests.mutants.table import Mutant, area_files, faults_of, files_of_tests, read_table, read_tables, together

GOOD = Mutant(
    what="an answer is wrong", file="code.py", old="return 41", new="return 42", tests="test_code.py -k 'an answer'"
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "code.py").write_text("def answer():\n    return 41\n")
    (tmp_path / "test_code.py").touch()
    return tmp_path


def faults(root: Path, **changes: str) -> list[str]:
    return list(faults_of(structs.replace(GOOD, **changes), root))


@pytest.mark.parametrize("table", area_files(), ids=lambda path: path.stem)
def test_each_entry_of_the_table_fits_the_code(table: Path) -> None:
    entries = read_table(table)

    assert entries
    assert [f"{mutant.what}: {fault}" for mutant in entries for fault in faults_of(mutant)] == []


def test_no_change_is_there_twice() -> None:
    times = Counter((mutant.file, mutant.old, mutant.new) for mutant in read_tables())

    assert [change for change, count in times.items() if count > 1] == []


def test_a_good_entry_has_no_fault(root: Path) -> None:
    assert faults(root) == []


@pytest.mark.parametrize(
    ("field", "value", "fault"),
    [
        ("what", " ", "says nothing about what goes wrong"),
        ("file", "gone.py", "gone.py does not exist"),
        ("old", "return 40", "old occurs 0 times in code.py, not once"),
        ("old", "", "old occurs 0 times in code.py, not once"),
        ("old", "n", "old occurs 2 times in code.py, not once"),
        ("new", "return 41", "changes nothing: old and new are the same"),
        ("python", "3", "'3' is no Python; write it as '3.12'"),
        ("last_python", "311", "'311' is no Python; write it as '3.12'"),
        ("tests", "-k answer", "names no tests"),
        ("tests", "gone.py::test_answer", "gone.py does not exist"),
    ],
)
def test_an_entry_that_proves_nothing_is_found(root: Path, field: str, value: str, fault: str) -> None:
    assert faults(root, **{field: value}) == [fault]


@pytest.mark.parametrize(("python", "runs_here"), [("", True), ("3.9", True), ("3.11", True), ("3.999", False)])
def test_a_change_is_tried_from_the_python_on_that_its_tests_need(python: str, runs_here: bool) -> None:
    assert structs.replace(GOOD, python=python).runs_here == runs_here


@pytest.mark.parametrize(
    ("last_python", "runs_here"),
    [
        ("", True),
        ("3.9", False),
        (f"3.{sys.version_info.minor - 1}", False),
        (f"3.{sys.version_info.minor}", True),
        ("3.99", True),
    ],
)
def test_a_change_is_tried_up_to_the_python_on_which_it_does_harm(last_python: str, runs_here: bool) -> None:
    assert structs.replace(GOOD, last_python=last_python).runs_here == runs_here


def test_a_change_after_which_the_file_is_no_python_is_found(root: Path) -> None:
    [fault] = faults(root, new="return (")

    assert fault.startswith("new makes code.py no Python: ")


def test_files_and_folders_are_told_from_options_and_names_of_tests() -> None:
    arguments = "tests/cli tests/test_clock.py::test_a -x -k 'one and two' --timeout=5"

    assert files_of_tests(arguments) == ["tests/cli", "tests/test_clock.py"]


def test_tests_of_one_file_run_together_without_a_change() -> None:
    arguments = ["a.py -k 'one and two'", "a.py -k three", "a.py", "a.py::test_b", "c.py -k three", "a.py -k three"]

    assert together(arguments) == {
        "a.py -k '(one and two) or (three)'": ["a.py -k 'one and two'", "a.py -k three"],
        "a.py a.py::test_b": ["a.py", "a.py::test_b"],
        "c.py -k '(three)'": ["c.py -k three"],
    }


def test_a_table_with_a_field_of_another_name_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "area.toml"
    path.write_text('[[mutant]]\nwhat = "a"\nfile = "b"\nold = "c"\nnew = "d"\ntest = "e"\n')

    with pytest.raises(ValueError, match=r"^area.toml is no table of mutants: "):
        read_table(path)
