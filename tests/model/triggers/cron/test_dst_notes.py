"""Notes on the clock changes to come."""

import pytest

from rota.model.triggers.cron.dst_notes import DstNote, dst_notes
from rota.model.triggers.cron.fires import Dst
from rota.model.triggers.cron.parser import parse_cron
from tests.model.triggers.instants import ms


def notes_of_2026(text: str, rule: Dst) -> list[str]:
    notes = dst_notes(parse_cron(text), ms("2026-01-01"), ms("2027-01-01"), zone="America/New_York", dst=rule)
    return [note.text for note in notes]


@pytest.mark.parametrize(
    ("text", "rule", "expected"),
    [
        ("30 2 * * *", Dst.VIXIE, ["8 Mar: 02:30 does not exist → 03:00"]),
        ("30 2 * * *", Dst.LITERAL, ["8 Mar: 02:30 does not exist → no fire"]),
        ("30 2 * * *", Dst.SKIP, ["8 Mar: 02:30 does not exist → no fire"]),
        ("0,30 2 * * *", Dst.VIXIE, ["8 Mar: 02:00 and 02:30 do not exist → 03:00"]),
        ("30 1 * * *", Dst.VIXIE, ["1 Nov: 01:30 occurs twice → fires the first time only"]),
        ("30 1 * * *", Dst.LITERAL, ["1 Nov: 01:30 occurs twice → fires both times"]),
        (
            "45 * * * *",
            Dst.VIXIE,
            ["8 Mar: 02:45 does not exist → goes on at 03:45", "1 Nov: 01:45 occurs twice → fires both times"],
        ),
        (
            "*/10 * * * *",
            Dst.SKIP,
            [
                "8 Mar: 6 times from 02:00 to 02:59 do not exist → goes on at 03:00",
                "1 Nov: 6 times from 01:00 to 01:59 occur twice → fires the first time only",
            ],
        ),
        ("0 12 * * *", Dst.VIXIE, []),
        ("30 2 9 3 *", Dst.VIXIE, []),
    ],
)
def test_a_note_tells_what_the_rule_does(text: str, rule: Dst, expected: list[str]) -> None:
    assert notes_of_2026(text, rule) == expected


def test_a_day_that_is_left_out_names_the_date_it_goes_on() -> None:
    cron = parse_cron("30 10 * * *")

    notes = dst_notes(cron, ms("2011-12-01"), ms("2012-01-31"), zone="Pacific/Apia")

    assert notes == (DstNote(ms("2011-12-31T00:00+14:00"), "30 Dec: 10:30 does not exist → 31 Dec 00:00"),)


def test_utc_has_no_notes() -> None:
    assert dst_notes(parse_cron("* * * * *"), ms("2000-01-01"), ms("2030-01-01")) == ()
