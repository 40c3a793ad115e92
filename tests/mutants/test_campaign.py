"""The program behind `make mutants`, tried on a project of two files."""

from pathlib import Path

import pytest

from tests.mutants.campaign import Result, try_all
from tests.mutants.report import report
from tests.mutants.table import Mutant
from tests.mutants.workshop import Trial, Verdict, Workshop

CODE = """\
def answer():
    number = 41
    return number + 1


def loop():
    while False:
        pass


def unused():
    return 1
"""
TESTS = """\
import os
import subprocess
import sys

from rota.code import answer, loop


def test_answer():
    assert answer() == 42


def test_answer_of_a_process():
    script = "from rota.code import answer; print(answer())"
    assert subprocess.run([sys.executable, "-c", script], cwd="/", capture_output=True).stdout == b"42\\n"


def test_loop():
    loop()


def test_broken():
    assert "here" == "there"
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    (root / "src" / "rota").mkdir(parents=True)
    (root / "src" / "rota" / "__init__.py").touch()
    (root / "src" / "rota" / "code.py").write_text(CODE)
    (root / "tests").mkdir()
    (root / "tests" / "test_code.py").write_text(TESTS)
    return root


def change(old: str, new: str, *, of: str, survives: str = "", hangs: bool = False) -> Mutant:
    return Mutant(
        what=f"{old} is {new}",
        file="src/rota/code.py",
        old=old,
        new=new,
        tests=f"tests/test_code.py::{of}",
        survives=survives,
        hangs=hangs,
        area="small",
    )


def verdicts(root: Path, *mutants: Mutant, jobs: int = 1) -> list[Verdict]:
    return [result.verdict for result in try_all(mutants, root, jobs=jobs)]


def test_a_change_is_noticed_by_failed_tests_and_undone_before_the_next(root: Path) -> None:
    # All of one size, in a row, on a file that Python has cached: each must be seen, in processes of the tests too.
    wrong = change("number = 41", "number = 40", of="test_answer")
    harmless = change("return 1\n", "return 2\n", of="test_answer")
    wrong_in_a_process = change("number + 1", "number + 2", of="test_answer_of_a_process")
    harmless_in_a_process = change("return 1\n", "return 3\n", of="test_answer_of_a_process")

    found = verdicts(root, wrong, harmless, wrong_in_a_process, harmless_in_a_process)

    assert found == [Verdict.NOTICED, Verdict.SURVIVED, Verdict.NOTICED, Verdict.SURVIVED]
    assert (root / "src" / "rota" / "code.py").read_text() == CODE


def test_what_is_no_failed_test_is_an_error_and_not_noticed(root: Path) -> None:
    cannot_be_imported = change("def loop", "def other", of="test_answer")
    no_such_test = change("number = 41", "number = 40", of="test_gone")
    fails_anyway = change("number = 41", "number = 40", of="test_broken")

    results = try_all([cannot_be_imported, no_such_test, fails_anyway], root, jobs=2)

    assert [result.verdict for result in results] == [Verdict.ERROR, Verdict.ERROR, Verdict.ERROR]
    assert results[0].fault.startswith("pytest ended with 4: ")
    assert results[1].fault.startswith("its tests fail without it, pytest ended with 4: ")
    assert results[2].fault.startswith("its tests fail without it, pytest ended with 1: ")


def test_where_only_the_failed_test_is_run_unchanged_one_that_fails_anyway_is_found_too(root: Path) -> None:
    wrong = change("number = 41", "number = 40", of="test_answer")
    fails_anyway = change("number = 41", "number = 40", of="test_broken")

    results = try_all([wrong, fails_anyway], root, jobs=1, is_unchanged_first=False)

    assert [result.verdict for result in results] == [Verdict.NOTICED, Verdict.ERROR]
    assert results[1].fault.startswith("tests/test_code.py::test_broken fails without it, pytest ended with 1: ")


def test_hanging_is_a_verdict_only_for_what_is_said_to_hang(root: Path) -> None:
    unsaid = change("while False", "while True", of="test_loop")
    said = change("while False", "while True", of="test_loop", hangs=True)
    hung = Trial(exit_code=None, took_s=180.0, output="")

    assert hung.verdict(unsaid) is Verdict.ERROR
    assert verdicts(root, said) == [Verdict.NOTICED]


def test_the_copy_comes_before_the_installed_package(root: Path) -> None:
    workshop = Workshop(root)
    try:
        assert workshop.is_what_processes_see()
    finally:
        workshop.close()


def test_the_report_counts_by_area_and_tells_of_every_survivor() -> None:
    noticed, survived = change("a", "b", of="test_a"), change("c", "d", of="test_b")
    excused = change("e", "f", of="test_c", survives="nobody calls it")

    text = report(
        [
            Result(noticed, Verdict.NOTICED),
            Result(survived, Verdict.SURVIVED),
            Result(excused, Verdict.SURVIVED),
            Result(noticed, Verdict.ERROR, "no tests"),
        ]
    )

    assert text.splitlines()[2] == "| small | 4 | 1 | 1 | **1** | **1** |"
    assert "**Survived** (small):\n\n- c is d\n  in src/rota/code.py; tests: `tests/test_code.py::test_b`" in text
    assert "- e is f\n  in src/rota/code.py; tests: `tests/test_code.py::test_c`\n  Reason: nobody calls it" in text
    assert "- a is b\n  in src/rota/code.py; tests: `tests/test_code.py::test_a`\n  > no tests" in text


def test_only_survivors_with_a_reason_and_noticed_changes_are_good() -> None:
    plain, excused = change("a", "b", of="test_a"), change("a", "b", of="test_a", survives="nobody calls it")

    assert [Result(plain, verdict).is_bad for verdict in Verdict] == [False, True, True]
    assert [Result(excused, verdict).is_bad for verdict in Verdict] == [False, False, True]
