"""Ids are unique, ordered and canonical."""

import subprocess
import sys
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.errors import InvalidInput
from rota.model.ids import check_id, ids_between, new_id, numbered_id


def test_an_id_is_a_version_7_uuid_that_tells_its_millisecond() -> None:
    far_ahead = 4_000_000_000_000

    made = UUID(new_id(far_ahead))

    assert made.version == 7
    assert made.variant == "specified in RFC 4122"
    assert made.int >> 80 >= far_ahead


@given(st.lists(st.integers(min_value=0, max_value=2_000_000_000_000), min_size=2, max_size=50))
def test_ids_grow_whatever_the_clock_does(instants: list[int]) -> None:
    ids = [new_id(instant) for instant in instants]

    assert ids == sorted(ids)
    assert len(set(ids)) == len(ids)


def test_more_ids_than_fit_into_a_millisecond_still_grow() -> None:
    ids = [new_id(1_700_000_000_000) for _ in range(10_000)]

    assert ids == sorted(ids)
    assert len(set(ids)) == len(ids)


def test_a_forked_child_makes_other_ids_than_its_parent() -> None:
    """In a process of its own: this one has threads, which do not survive a fork."""
    script = (
        "import os; from rota.model.ids import new_id; new_id(1); reading, writing = os.pipe()\n"
        "child = os.fork() == 0\n"
        "os.write(writing, (new_id(1) + '\\n').encode())\n"
        "if not child: os.wait(); print(os.read(reading, 1000).decode(), end='')"
    )

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    first, second = done.stdout.split()
    assert first != second


def test_numbered_ids_are_the_same_at_every_call_and_in_the_order_of_their_numbers() -> None:
    numbers = [0, 1, 2, 4_095, 4_096, 4_097, 100_000]

    ids = [numbered_id(1_700_000_000_000, "nightly", number) for number in numbers]

    assert ids == sorted(ids)
    assert len(set(ids)) == len(numbers)
    assert ids == [numbered_id(1_700_000_000_000, "nightly", number) for number in numbers]
    assert {UUID(one).version for one in ids} == {7}
    assert [UUID(one).int >> 80 for one in ids[:4]] == [1_700_000_000_000] * 4


def test_numbered_ids_of_two_series_are_never_the_same() -> None:
    ids = {numbered_id(1_700_000_000_000, series, number) for series in ("a", "b", "a 1") for number in range(100)}

    assert len(ids) == 300


def test_ids_that_were_made_within_some_milliseconds_lie_between_two_texts() -> None:
    first, behind = ids_between(1_000, 2_000)

    inside = [numbered_id(ms, "x", number) for ms in (1_000, 1_500, 2_000) for number in (0, 4_095)]
    outside = [numbered_id(ms, "x", number) for ms in (999, 2_001) for number in (0, 4_095)]

    assert [one for one in inside if not first <= one < behind] == []
    assert [one for one in outside if first <= one < behind] == []


def test_an_id_is_read_in_any_spelling_and_given_in_one() -> None:
    assert check_id("id", "018BCFE5680070E1BAC1810340FFDEED") == "018bcfe5-6800-70e1-bac1-810340ffdeed"


@pytest.mark.parametrize("bad", ["", "nonsense", "018bcfe5", 7, None])
def test_what_is_not_an_id_is_refused_with_the_field(bad: object) -> None:
    with pytest.raises(InvalidInput, match="job_type_uuid"):
        check_id("job_type_uuid", bad)  # type: ignore[arg-type]
