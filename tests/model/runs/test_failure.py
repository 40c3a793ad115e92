"""What went wrong, in words."""

import pytest

from rota.model.runs.failure import cut, failure_words


@pytest.mark.parametrize(
    ("errors", "results", "words"),
    [
        (None, None, None),
        (None, {"exit_code": 0}, None),
        (None, {"stdout": "", "exit_code": 3}, "exit code 3"),
        (None, {"exit_code": -9}, "killed by signal 9 (SIGKILL)"),
        (None, {"exit_code": -99}, "killed by signal 99"),
        (None, {"exit_code": None}, None),
        ("broken", None, "broken"),
        ({"type": "timeout", "message": "ran too long"}, {"exit_code": -15}, "ran too long"),
        ({"type": "ValueError", "message": "no", "traceback": "..."}, None, "ValueError: no"),
        ({"type": "KeyError", "message": "", "traceback": "..."}, None, "KeyError"),
        ({"code": 7}, None, '{"code":7}'),
        (["a"], None, '["a"]'),
    ],
)
def test_errors_and_exit_codes_in_words(errors: object, results: object, words: str | None) -> None:
    assert failure_words(errors, results) == words


def test_an_error_within_a_sentence_is_one_line_of_bounded_length() -> None:
    assert cut("a\n  b") == "a b"
    assert cut("x" * 500) == "x" * 200 + "..."
