"""What is remembered and said of records that cannot be read."""

import logging

import pytest

from rota.store.records.unreadable import UnreadableRecords, set_aside_text

BROKEN = ValueError("it ends too early")


def test_a_record_that_cannot_be_read_is_said_once_however_often_it_is_met(caplog: pytest.LogCaptureFixture) -> None:
    records = UnreadableRecords()

    with caplog.at_level(logging.ERROR, "rota.store"):
        reasons = [records.note(kind, id, BROKEN) for kind, id in (("job", "a"), ("job", "a"), ("node", "a"))]

    assert reasons == ["it ends too early"] * 3
    assert [(one.kind, one.id) for one in records.all()] == [("job", "a"), ("node", "a")]
    assert len(caplog.records) == 2


def test_of_very_many_records_the_first_are_remembered_and_said(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rota.store.records.unreadable._MOST_REMEMBERED", 2)
    records = UnreadableRecords()

    with caplog.at_level(logging.ERROR, "rota.store"):
        reasons = [records.note("job", id, BROKEN) for id in ("c", "b", "a", "c")]

    assert reasons == ["it ends too early"] * 4
    assert [one.id for one in records.all()] == ["b", "c"]
    assert len(caplog.records) == 2


def test_an_error_without_words_is_told_by_its_kind_and_a_long_one_in_part() -> None:
    records = UnreadableRecords()

    assert records.note("job", "a", KeyError()) == "KeyError"
    assert len(records.note("job", "b", ValueError("x" * 100_000))) == 500


def test_a_record_that_is_set_aside_is_kept_as_text_and_a_long_one_in_part() -> None:
    assert set_aside_text(b"\xff{") == "\\xff{"
    assert len(set_aside_text(b"x" * 100_000)) == 10_000
