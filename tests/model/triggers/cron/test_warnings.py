"""What a person is told before a line is saved."""

import pytest

from rota.model.triggers.cron.parser import parse_cron
from rota.model.triggers.cron.warnings import cron_warnings


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        ("0/1 * 0 ? * * *", "3600 fires between 00:00 and 00:59 each day; did you mean `0 0/1 * ? * * *`?"),
        ("* * * * * ? *", "86400 fires each day; did you mean `0 * * * * ? *`?"),
        ("*/10 * 9-17 ? * * *", "3240 fires between 09:00 and 17:59 each day; did you mean `0 */10 * ? * * *`?"),
        ("* 2 * * *", "60 fires between 02:00 and 02:59 each day; did you mean `0 2 * * *`?"),
        ("0 * 2 * * *", "60 fires between 02:00 and 02:59 each day; did you mean `0 0 2 * * *`?"),
        ("* 2,14 * * *", "120 fires each day; did you mean `0 2,14 * * *`?"),
        ("*/7 * * * *", '"*/7" begins anew each hour, so its last wait is shorter; for an even rhythm use `@every 7m`'),
        ("0 */5 * * *", '"*/5" begins anew each day, so its last wait is shorter; for an even rhythm use `@every 5h`'),
        ("*/90 * * * *", '"*/90" begins anew each hour, so fires once in it; for an even rhythm use `@every 90m`'),
        ("0 0 29 2 *", "29 February comes in leap years only; L is the last day of every February"),
        (
            "0 0 1-31 * 5",
            'day "1-31" is every day, so it fires every day, whatever the weekday "5" says; '
            "write * for the day to let the weekday decide",
        ),
        ("0 0 30 * *", "day 30 does not exist in February; L is the last day of every month"),
        (
            "0 0 31 4-6 *",
            "day 31 does not exist in April or June; L is the last day of every month",
        ),
        (
            "0 0 13 * 5",
            'day "13" and weekday "5" are both restricted: it fires when either matches; '
            "say days: both to ask for both",
        ),
        (
            "0 0 12 * * 5",
            'weekday "5" is counted from Sunday = 0; Quartz counts from Sunday = 1: '
            "write names such as FRI, or ? for the day, to be sure",
        ),
        (
            "0 0 9 ? * 1",
            'weekday "1" is counted from Sunday = 1, as in Quartz, because of the ?; Unix counts from Sunday = 0: '
            "write names such as FRI, or say dialect: quartz, to be sure",
        ),
        (
            "0 0 9 * * 2-6 2030",
            'weekday "2-6" is counted from Sunday = 1, as in Quartz, because of its 7 fields; Unix counts from '
            "Sunday = 0: write names such as FRI, or say dialect: quartz, to be sure",
        ),
        (
            "15 0 12 * * *",
            "6 fields: the first one is read as seconds; programs that put seconds last read this line otherwise",
        ),
    ],
)
def test_a_likely_slip_is_named(text: str, warning: str) -> None:
    assert cron_warnings(parse_cron(text)) == (warning,)


@pytest.mark.parametrize(
    "text",
    [
        "* * * * *",
        "*/15 9-17 * * MON-FRI",
        "30 2 * * *",
        "0 30 2 * * *",
        "0 0/1 * ? * * *",
        "0 0 L * *",
        "* 9-17 * * *",
    ],
)
def test_a_usual_line_has_no_warning(text: str) -> None:
    assert cron_warnings(parse_cron(text)) == ()
