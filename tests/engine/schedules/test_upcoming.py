"""The next fires of a trigger, and the notes that stand at them."""

from rota.engine.schedules.upcoming import next_fires, warnings_of
from rota.model.triggers.cron.fires import Dst
from rota.model.triggers.trigger import CronTrigger, IntervalTrigger, OnceTrigger, Progress
from tests.model.triggers.instants import ms, show, show_same

NOTHING = Progress()


def test_so_many_fires_strictly_after_an_instant() -> None:
    hourly, eight = CronTrigger(cron="0 * * * *"), ms("2026-05-01T08:00")

    fires = next_fires(hourly, NOTHING, eight, 3)

    expected = show_same(["2026-05-01T09:00", "2026-05-01T10:00", "2026-05-01T11:00"])
    assert show(fire.instant for fire in fires) == expected
    assert [fire.note for fire in fires] == [None, None, None]
    assert show(fire.instant for fire in next_fires(hourly, NOTHING, eight - 1, 1)) == show_same(["2026-05-01T08:00"])


def test_a_trigger_that_ends_has_fewer() -> None:
    once, bounded = OnceTrigger(at=5), IntervalTrigger(every_ms=10, start=0, end=30)

    assert [fire.instant for fire in next_fires(once, NOTHING, 0, 3)] == [5]
    assert next_fires(once, NOTHING, 5, 3) == []
    assert [fire.instant for fire in next_fires(bounded, NOTHING, 15, 9)] == [20, 30]


def test_a_note_stands_at_the_first_fire_that_is_not_before_its_clock_change() -> None:
    nightly = CronTrigger(cron="30 2 * * *", tz="Europe/Berlin")

    fires = next_fires(nightly, NOTHING, ms("2026-03-27T12:00+01:00"), 3)

    assert [fire.note for fire in fires] == [None, "29 Mar: 02:30 does not exist → 03:00", None]


def test_a_clock_change_before_the_first_fire_is_told_there_and_one_after_the_last_is_not() -> None:
    weekly = CronTrigger(cron="30 2 * * SUN,WED", tz="Europe/Berlin", dst=Dst.SKIP)

    fires = next_fires(weekly, NOTHING, ms("2026-03-28T12:00+01:00"), 1)
    before = next_fires(weekly, NOTHING, ms("2026-03-24T12:00+01:00"), 1)

    assert show(fire.instant for fire in fires) == show_same(["2026-04-01T02:30+02:00"])
    assert fires[0].note == "29 Mar: 02:30 does not exist → no fire"
    assert [fire.note for fire in before] == [None]


def test_notes_of_two_changes_before_one_fire_stand_together() -> None:
    yearly = CronTrigger(cron="30 2 * 3,10 SUNL", tz="Europe/Berlin", dst=Dst.SKIP)

    first, second = next_fires(yearly, NOTHING, ms("2026-03-01"), 2)

    assert show([first.instant, second.instant]) == show_same(["2026-10-25T02:30+02:00", "2027-10-31T02:30+02:00"])
    assert first.note == "29 Mar: 02:30 does not exist → no fire"
    assert (
        second.note == "25 Oct: 02:30 occurs twice → fires the first time only; 28 Mar: 02:30 does not exist → no fire"
    )


def test_only_a_cron_line_can_look_like_a_slip() -> None:
    assert warnings_of(IntervalTrigger(every_ms=1), NOTHING) == ()
    assert warnings_of(CronTrigger(cron="30 2 * * *"), NOTHING) == ()
    assert len(warnings_of(CronTrigger(cron="* 2 * * *"), NOTHING)) == 1
