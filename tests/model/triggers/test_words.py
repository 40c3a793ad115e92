"""Cron in words: what is said, and that something true is always said."""

import pytest
from hypothesis import given, settings

from rota.model.triggers.cron.cron import Days
from rota.model.triggers.cron.parser import parse_cron
from rota.model.triggers.interval import Anchor, TimeUnit
from rota.model.triggers.trigger import (
    CronTrigger,
    FrequencyTrigger,
    IntervalTrigger,
    OnceTrigger,
    Progress,
    Trigger,
)
from rota.model.triggers.words.words import cron_words, trigger_words
from tests.model.triggers.cron.test_oracles import lines
from tests.model.triggers.instants import ms


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("* * * * *", "every minute"),
        ("*/15 9-17 * * MON-FRI", "every 15 minutes between 9:00 and 17:59 on Monday to Friday"),
        ("30 2 * * *", "at 2:30 every day"),
        ("0 * * * *", "every hour"),
        ("5 * * * *", "at 5 minutes past every hour"),
        ("1 * * * *", "at 1 minute past every hour"),
        ("0 */2 * * *", "every 2 hours"),
        ("15 */2 * * *", "every 2 hours at minute 15"),
        ("0 9-17 * * *", "every hour from 9:00 to 17:00"),
        ("30 9-17/2 * * 1-5", "every 2 hours from 9:30 to 17:30 on Monday to Friday"),
        ("0 0 1 1 *", "at 0:00 on day 1 of January"),
        ("0 0 1 * *", "at 0:00 on day 1 of the month"),
        ("0 0 L * *", "at 0:00 on the last day of the month"),
        ("0 0 L-3 * *", "at 0:00 on the day 3 days before the last day of the month"),
        (
            "0 0 L-3W * *",
            "at 0:00 on the working day (Monday to Friday) nearest 3 days before the last day of the month",
        ),
        ("0 0 LW * *", "at 0:00 on the last working day (Monday to Friday) of the month"),
        ("0 0 15W * *", "at 0:00 on the working day (Monday to Friday) nearest day 15 of the month"),
        ("0 0 * * 5L", "at 0:00 on the last Friday of the month"),
        ("0 0 * * FRI#2", "at 0:00 on the second Friday of the month"),
        ("0 0 13 * 5", "at 0:00 on day 13 of the month or on Friday"),
        ("0 0 */2 * 1", "at 0:00 on every 2nd day of the month, if that is Monday"),
        ("0 0 1-7 * 1", "at 0:00 on days 1 to 7 of the month or on Monday"),
        ("0,30 * * * *", "at minutes 0 and 30 of every hour"),
        ("0,30 9 * * *", "at 9:00 and 9:30 every day"),
        ("0,30 9-17 * * *", "at minutes 0 and 30 of every hour between 9:00 and 17:59"),
        ("5,35 2,5 * * *", "at 2:05, 2:35, 5:05 and 5:35 every day"),
        ("*/7 * * * *", "every 7 minutes from minute 0 to minute 56"),
        ("5/15 * * * *", "every 15 minutes from minute 5 to minute 50"),
        ("10-20 * * * *", "every minute from minute 10 to minute 20"),
        ("10-20 3 * * *", "every minute from minute 10 to minute 20 between 3:00 and 3:59"),
        ("* 2 * * *", "every minute between 2:00 and 2:59"),
        ("* 2,5 * * *", "every minute in the hours of 2:00 and 5:00"),
        ("*/5 */2 * * *", "every 5 minutes in every 2nd hour"),
        ("*/5 9-17/2 * * *", "every 5 minutes in every 2nd hour between 9:00 and 17:59"),
        ("22-2 * * * *", "every minute from minute 22 to minute 2"),
        ("0 22-2 * * *", "every hour from 22:00 to 2:00"),
        ("*/10 22-2 * * FRI-MON", "every 10 minutes between 22:00 and 2:59 on Friday to Monday"),
        ("* * * * * *", "every second"),
        ("*/10 * * * * *", "every 10 seconds"),
        ("15 * * * * *", "at second 15 of every minute"),
        ("0,30 * * * * *", "at seconds 0 and 30 of every minute"),
        ("15 30 2 * * *", "at 2:30:15 every day"),
        ("*/10 30 2 * * *", "every 10 seconds of minute 30 between 2:00 and 2:59"),
        ("10-20 * * * * *", "every second from second 10 to second 20"),
        ("0/1 * 0 ? * * *", "every second between 0:00 and 0:59"),
        ("0 0/1 * ? * * *", "every minute"),
        ("0 0 12 ? * 2#1 *", "at 12:00 on the first Monday of the month"),
        ("0 0 12 1 1 ? 2030", "at 12:00 on day 1 of January in 2030"),
        ("0 0 12 1 1 ? 2030-2035", "at 12:00 on day 1 of January in 2030 to 2035"),
        ("0 0 * 6-8 *", "at 0:00 every day in June to August"),
        ("0 0 1 6-8 *", "at 0:00 on day 1 of June to August"),
        ("0 0 1,15 1,4,7,10 *", "at 0:00 on days 1 and 15 of January, April, July and October"),
        ("0 0 1,15,L * *", "at 0:00 on days 1 and 15 of the month and the last day of the month"),
        ("0 0 31 12 FRI", "at 0:00 on day 31 of the month or on Friday, in December"),
        ("0 12 * * 0,6", "at 12:00 on Saturday and Sunday"),
        ("0 12 * * 6,0,3", "at 12:00 on Wednesday, Saturday and Sunday"),
        ("0 1,2,3,4,5,6,7,8,9,10 * * *", "every hour from 1:00 to 10:00"),
        ("0 0,2,4,6,8,10,12,14,16,18,20,22 * * *", "every 2 hours"),
        ("15 1,3,5,7,9,11,13,15,17,19,21,23 * * *", "every 2 hours from 1:15 to 23:15"),
        ("0 8,9,10,12,13,20 * * 1-5", "at 8:00, 9:00, 10:00, 12:00, 13:00 and 20:00 on Monday to Friday"),
        (
            "0 6,7,8,9,12,13,14,15,20 * * 1-5",
            "every hour from 6:00 to 9:00, from 12:00 to 15:00 and at 20:00 on Monday to Friday",
        ),
        (
            "0 0,1,3,4,6,7,9,10,12,13 * * *",
            "at 0:00, 1:00, 3:00, 4:00, 6:00, 7:00, 9:00, 10:00, 12:00 and 13:00 every day",
        ),
        ("0 9,12,15 * * *", "at 9:00, 12:00 and 15:00 every day"),
        ("0/5 * * * *", "every 5 minutes"),
        ("0-59/30 2 * * *", "every 30 minutes between 2:00 and 2:59"),
        ("*/45 * * * *", "at minutes 0 and 45 of every hour"),
        ("*/45 9-17 * * 1-5", "at minutes 0 and 45 of every hour between 9:00 and 17:59 on Monday to Friday"),
        ("0 */13 * * *", "at 0:00 and 13:00 every day"),
        ("*/45 * * * * *", "at seconds 0 and 45 of every minute"),
        ("1-5,10-15,20 * * * *", "at minutes 1 to 5, 10 to 15 and 20 of every hour"),
        ("1-5,10-15,20 2 * * *", "at minutes 1 to 5, 10 to 15 and 20 between 2:00 and 2:59"),
        ("0 9 1-5,10-15,20 * *", "at 9:00 on days 1 to 5, 10 to 15 and 20 of the month"),
        ("0 9 20,1-5,L 2 *", "at 9:00 on days 1 to 5 and 20 of February and the last day of February"),
        ("0 0 1 JAN,JUL MON", "at 0:00 on day 1 of the month or on Monday, in January and July"),
        ("*/20 1,2,3 * * *", "every 20 minutes in the hours of 1:00 to 3:00"),
        ("*/5 5 2 * * *", "every 5 seconds of minute 5 between 2:00 and 2:59"),
        ("*/5 */5 * * * *", "every 5 seconds of every 5th minute"),
        ("0 0 29 2 *", "at 0:00 on day 29 of February"),
        ("0 0 * * 7", "at 0:00 on Sunday"),
        ("0 8 * 3-5,9-11 1-3,5", "at 8:00 on Monday to Wednesday and Friday in March to May and September to November"),
        ("1 2 3 4 5", "at 2:01 on day 3 of the month or on Friday, in April"),
        ("*/5 10-20 * * * *", "every 5 seconds of minutes 10 to 20"),
        ("*/5 1,2 * * * *", "every 5 seconds of minutes 1 and 2"),
        ("5 10 * * * *", "at minute 10 and second 5 of every hour"),
        ("0 0 25-5 * *", "at 0:00 on days 25 to 5 of the month"),
        ("23 0-20/2 * * *", "every 2 hours from 0:23 to 20:23"),
        ("0 0,12 1 */2 *", "at 0:00 and 12:00 on day 1 of January, March, May, July, September and November"),
        ("0 0 5/10 * *", "at 0:00 on every 10th day from 5 to 25 of the month"),
        ("*/90 * * * *", "every hour"),
        ("0 0 5 * 0-6", "at 0:00 every day"),
        ("0 0 1-31 * 5", "at 0:00 every day"),
        ("30 4 1,15 * 5", "at 4:30 on days 1 and 15 of the month or on Friday"),
        ("0 0 * * 1-5/2", "at 0:00 on Monday, Wednesday and Friday"),
        ("0 0 9 ? * 2-6", "at 9:00 on Monday to Friday"),
        ("0 0 0 1 1 ? 2030,2032", "at 0:00 on day 1 of January in 2030 and 2032"),
        ("0 30 10-13 ? * WED,FRI", "every hour from 10:30 to 13:30 on Wednesday and Friday"),
        (
            "15 10 * 1 MON#2,FRI#4",
            "at 10:15 on the second Monday of the month and the fourth Friday of the month in January",
        ),
    ],
)
def test_a_line_reads_as_plain_english(text: str, words: str) -> None:
    assert cron_words(parse_cron(text)) == words


@given(lines(seconds=True, wrap=True, open_weekdays=True))
@settings(max_examples=300)
def test_every_line_has_words(text: str) -> None:
    words = cron_words(parse_cron(text))

    assert words.startswith(("at ", "every "))
    assert "  " not in words


def test_both_days_are_told_apart_from_either() -> None:
    assert cron_words(parse_cron("0 0 13 * 5", days=Days.BOTH)) == "at 0:00 on day 13 of the month, if that is Friday"


@pytest.mark.parametrize(
    ("trigger", "words"),
    [
        (CronTrigger(cron="0 9 * * *", tz="Europe/Berlin"), "at 9:00 every day (Europe/Berlin)"),
        (CronTrigger(cron="0 9 * * *", tz="Europe/Berlin", utc=True), "at 9:00 every day"),
        (IntervalTrigger(every_ms=90_000), "every 1 minute 30 seconds"),
        (IntervalTrigger(every_ms=3_600_000, anchor=Anchor.EPOCH), "every hour, in step with the clock"),
        (IntervalTrigger(every_ms=5_000, anchor=Anchor.SCHEDULED), "every 5 seconds after the last one"),
        (IntervalTrigger(every_ms=250, anchor=Anchor.ENDED), "every 250 milliseconds after the end of the last run"),
        (FrequencyTrigger(time=1, unit=TimeUnit.DAYS), "every day"),
        (FrequencyTrigger(time=36, unit=TimeUnit.HOURS), "every 1 day 12 hours"),
        (OnceTrigger(at=ms("2026-05-01T12:00")), "once at 2026-05-01 12:00:00 UTC"),
        (OnceTrigger(at=ms("2026-05-01T12:00"), tz="Europe/Berlin"), "once at 2026-05-01 14:00:00 +02:00"),
        (OnceTrigger(at=ms("2026-05-01T12:00") + 5, tz="Asia/Kathmandu"), "once at 2026-05-01 17:45:00.005 +05:45"),
        (OnceTrigger(at=ms("1880-01-01T00:00"), tz="Europe/Berlin"), "once at 1880-01-01 00:53:28 +00:53"),
        (OnceTrigger(delay_ms=1_000), "once, 1 second after it is made"),
    ],
)
def test_every_trigger_has_words(trigger: Trigger, words: str) -> None:
    assert trigger_words(trigger, Progress()) == words
