"""Tasks in the original's words."""

from math import inf

import pytest
from msgspec import structs

from rota.dialects.sync_tasks.task import FOREIGN_CAUSE, base_priority, created_at, task_id
from rota.dialects.sync_tasks.times import iso, read_micros
from rota.errors import InvalidInput
from rota.model.job import Cause, Job, JobState
from tests.contract.building import new_queue, spec


@pytest.mark.parametrize(("score", "expected"), [(299_998_384_585_588, 300), (10**12 - 1, 1), (9007 * 10**12, 9007)])
def test_a_score_tells_its_class(score: float, expected: int) -> None:
    assert base_priority(score) == expected


@pytest.mark.parametrize("score", [0, -5, 9008 * 10**12, inf, -inf])
def test_a_score_of_no_class_is_refused(score: float) -> None:
    with pytest.raises(InvalidInput):
        base_priority(score)


def test_times_are_iso_in_utc() -> None:
    assert iso(1_615_414_412_345) == "2021-03-10T22:13:32.345000Z"
    assert iso(None) == ""
    same = ["2021-03-10T22:13:32.345Z", "2021-03-10T23:13:32.345 01:00", "2021-03-10T22:13:32.345000"]
    assert {read_micros("start", text) for text in same} == {1_615_414_412_345_000}
    with pytest.raises(InvalidInput, match=r"start: 'now' is not an ISO timestamp"):
        read_micros("start", "now")


@pytest.mark.parametrize("text", ["0001-01-01T00:00:00+10:00", "9999-12-31T23:59:59-10:00"])
def test_a_time_that_is_of_no_year_in_utc_is_refused(text: str) -> None:
    """It could not be shown."""
    with pytest.raises(InvalidInput, match=r"start: .* is not an ISO timestamp"):
        read_micros("start", text)


@pytest.mark.parametrize("text", ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"])
def test_the_first_and_the_last_times_are_shown_as_they_were_read(text: str) -> None:
    assert iso(read_micros("start", text) // 1000) == text.replace("Z", ".000000Z")


@pytest.mark.parametrize("cause", [None, Cause("sync"), Cause("schedule", "0190b8a4-0000-7000-8000-000000000001", 5)])
def test_only_what_another_program_made_has_the_id_and_the_time_that_it_gave(cause: Cause | None) -> None:
    """The instant for which a schedule made one may be long over."""
    arguments: dict[str, object] = {"source": "shop", "collection": "orders"}
    own = Job(
        spec=structs.replace(spec(new_queue(), now=7_000), arguments=arguments, cause=cause), state=JobState.QUEUED
    )
    theirs = structs.replace(own, spec=structs.replace(own.spec, cause=Cause(FOREIGN_CAUSE, "theirs", 5)))

    assert (task_id(own), created_at(own)) == (f"shop_orders_{own.id}", 7_000)
    assert (task_id(theirs), created_at(theirs)) == ("theirs", 5)
