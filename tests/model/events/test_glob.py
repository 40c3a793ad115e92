"""Globs mean what a regular expression would mean, and cannot be made to take for ever."""

import re

from hypothesis import given
from hypothesis import strategies as st

from rota.model.events.glob import _every_piece, glob_matcher

PIECES = st.sampled_from(["*", "**", "?", "a", "b", "/", "[ab]", "[!a]", "."])
PATTERNS = st.lists(PIECES, max_size=7).map("".join)
TEXTS = st.text("ab/.\n", max_size=8)


@given(PATTERNS, TEXTS)
def test_a_glob_takes_what_its_regular_expression_takes(pattern: str, text: str) -> None:
    expected = re.fullmatch("".join(_every_piece(pattern)), text, re.DOTALL) is not None

    assert glob_matcher(pattern)(text) is expected


def test_of_two_stars_each_goes_as_far_as_it_may() -> None:
    assert [glob_matcher("*a*")(text) for text in ("a", "bab", "b/a", "a/b", "/a")] == [True, True, False, False, False]
    assert [glob_matcher("**a*")(text) for text in ("b/a", "a/b", "a/ba")] == [True, False, True]
    assert [glob_matcher("*a**")(text) for text in ("a/b", "b/a")] == [True, False]


def test_of_stars_side_by_side_the_one_that_takes_more_counts() -> None:
    for pattern in ("a***b", "a****b", "a*****b"):
        assert [glob_matcher(pattern)(text) for text in ("ab", "axb", "a/x/b", "a/x/c")] == [True, True, True, False]
    assert not glob_matcher("a*?*b")("a/b")


def test_many_stars_cost_no_more_than_the_text_is_long() -> None:
    text = "/" + "a" * 1_023

    assert not glob_matcher("/" + "*a" * 200 + "b")(text)
    assert not glob_matcher("/" + "**a" * 200 + "b")(text)
    assert not glob_matcher("/" + "*[ab]**?" * 100 + "b")(text)
    assert glob_matcher("/" + "*a" * 200)(text)


def test_a_pattern_remembers_no_more_letters_than_are_worth_it() -> None:
    matches = glob_matcher("*[!x]*y*")

    assert all(matches(f"{chr(number)}y") for number in range(0x4E00, 0x4E00 + 2_000))
    assert not matches("xx")
