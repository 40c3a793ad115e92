"""Ids are unique, ordered and canonical."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.errors import InvalidInput
from rota.model.ids import check_id, new_id


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


def test_an_id_is_read_in_any_spelling_and_given_in_one() -> None:
    assert check_id("id", "018BCFE5680070E1BAC1810340FFDEED") == "018bcfe5-6800-70e1-bac1-810340ffdeed"


@pytest.mark.parametrize("bad", ["", "nonsense", "018bcfe5", 7, None])
def test_what_is_not_an_id_is_refused_with_the_field(bad: object) -> None:
    with pytest.raises(InvalidInput, match="job_type_uuid"):
        check_id("job_type_uuid", bad)  # type: ignore[arg-type]
