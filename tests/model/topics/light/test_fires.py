"""When definitions fire: S + k * P, nothing twice, nothing lost within ten minutes, and beyond that the latest."""

import pytest

from rota.model.topics.light.definition import TaskDefinition, TaskFrequency, TaskKey
from rota.model.topics.light.fires import DueFires, catch_up_of, due_fires, due_task, first_fire, message_id, settled
from rota.model.triggers.catch_up import MAX_FIRES, plan_catch_up
from rota.model.triggers.interval import TimeUnit
from rota.model.triggers.trigger import FrequencyTrigger, Progress

NOON = 1_699_963_200_000
"""2023-11-14 12:00:00 UTC."""
SECOND, MINUTE, HOUR, DAY = 1_000, 60_000, 3_600_000, 86_400_000


def every(time: int, unit: TimeUnit, start: int | None = None) -> TaskDefinition:
    return TaskDefinition(host="h", name="n", topic="t", frequency=TaskFrequency(unit, time), start=start)


def once(start: int | None = None) -> TaskDefinition:
    return TaskDefinition(host="h", name="n", topic="t", start=start)


@pytest.mark.parametrize(
    ("unit", "start"),
    [
        (TimeUnit.MILLISECONDS, NOON + 1_501),
        (TimeUnit.SECONDS, NOON + 2_000),
        (TimeUnit.MINUTES, NOON + MINUTE),
        (TimeUnit.HOURS, NOON + HOUR),
        (TimeUnit.DAYS, NOON + DAY // 2),
    ],
)
def test_without_a_start_it_begins_at_the_next_exact_unit(unit: TimeUnit, start: int) -> None:
    assert settled(every(5, unit), NOON + 1_500).start == start
    assert settled(every(5, TimeUnit.SECONDS), NOON).start == NOON + SECOND


def test_a_start_is_kept_to_the_millisecond() -> None:
    daily = every(1, TimeUnit.DAYS, start=NOON + 17 * HOUR + 123)

    assert settled(daily, NOON) == daily
    assert first_fire(daily, NOON) == NOON + 17 * HOUR + 123


def test_a_future_start_is_the_first_fire() -> None:
    assert first_fire(every(10, TimeUnit.SECONDS, start=NOON + MINUTE), NOON) == NOON + MINUTE


def test_a_past_start_is_only_the_anchor() -> None:
    definition = every(10, TimeUnit.SECONDS, start=NOON - 25 * SECOND)

    assert first_fire(definition, NOON) == NOON + 5 * SECOND
    assert first_fire(definition, NOON + 5 * SECOND) == NOON + 5 * SECOND


def test_what_was_sent_is_not_sent_again_after_a_change() -> None:
    definition = every(10, TimeUnit.SECONDS, start=NOON)

    assert first_fire(definition, NOON, fired=NOON) == NOON + 10 * SECOND
    assert first_fire(definition, NOON, fired=NOON - 10 * SECOND) == NOON


def test_a_task_that_is_sent_once_is_due_at_its_start_or_now() -> None:
    assert first_fire(once(NOON + MINUTE), NOON) == NOON + MINUTE
    assert first_fire(once(NOON - DAY), NOON) == NOON - DAY
    assert first_fire(settled(once(), NOON), NOON) == NOON


def test_nothing_is_due_before_its_time() -> None:
    assert due_fires(every(1, TimeUnit.SECONDS, start=NOON), NOON, NOON - 1) == DueFires((), NOON)


def test_one_fire_is_due_at_its_time_and_the_next_a_period_later() -> None:
    definition = every(20, TimeUnit.SECONDS, start=NOON)

    assert due_fires(definition, NOON, NOON) == DueFires((NOON,), NOON + 20 * SECOND)
    assert due_fires(definition, NOON, NOON + 20 * SECOND - 1) == DueFires((NOON,), NOON + 20 * SECOND)


def test_who_takes_over_within_ten_minutes_sends_all() -> None:
    definition = every(20, TimeUnit.SECONDS, start=NOON)

    due = due_fires(definition, NOON, NOON + 10 * MINUTE)

    assert due == DueFires(tuple(NOON + 20 * SECOND * k for k in range(31)), NOON + 620 * SECOND)


def test_what_is_older_than_ten_minutes_is_not_made_up_for_unless_it_is_the_latest() -> None:
    hourly, often = every(1, TimeUnit.HOURS, start=NOON), every(5, TimeUnit.MINUTES, start=NOON)

    assert due_fires(hourly, NOON, NOON + HOUR - 1) == DueFires((NOON,), NOON + HOUR)
    assert due_fires(hourly, NOON, NOON + DAY + HOUR // 2) == DueFires((NOON + DAY,), NOON + DAY + HOUR)
    assert due_fires(often, NOON, NOON + HOUR).instants == tuple(NOON + MINUTE * k for k in (50, 55, 60))


def test_a_task_that_is_sent_once_is_never_too_old_and_done_then() -> None:
    assert due_fires(once(NOON), NOON, NOON + DAY) == DueFires((NOON,), None)


@pytest.mark.parametrize("gap", [0, 1, 999, 10_000, 59_999, 600_000, 600_001, 3_600_000, 90_000_000])
@pytest.mark.parametrize("every_ms", [70, 1_000, 60_000, 600_000, 600_001, 3_600_000])
def test_a_schedule_of_the_store_decides_the_same(gap: int, every_ms: int) -> None:
    definition = every(every_ms, TimeUnit.MILLISECONDS, start=NOON)
    trigger = FrequencyTrigger(time=every_ms, unit=TimeUnit.MILLISECONDS, start=NOON)
    policy = catch_up_of(every_ms)

    plan = plan_catch_up(trigger, Progress(), cursor=NOON - 1, now=NOON + gap, policy=policy)

    due = due_fires(definition, NOON, NOON + gap)
    assert (plan.fires, plan.following) == (due.instants, due.following)


def test_a_schedule_of_the_store_sends_the_latest_of_very_many() -> None:
    trigger = FrequencyTrigger(time=1, unit=TimeUnit.MILLISECONDS, start=NOON)

    plan = plan_catch_up(trigger, Progress(), cursor=NOON - 1, now=NOON + MINUTE, policy=catch_up_of(1))

    assert (len(plan.fires), plan.fires[-1]) == (MAX_FIRES, NOON + MINUTE)


def test_a_due_task_says_its_nominal_instant() -> None:
    definition = every(1, TimeUnit.HOURS, start=NOON)

    assert due_task(definition, NOON + HOUR) == every(1, TimeUnit.HOURS, start=NOON + HOUR)


def test_a_message_is_known_by_host_name_and_instant() -> None:
    assert message_id(TaskKey("networknt.com", "report"), NOON) == f"networknt.com/report/{NOON}"


def test_no_two_fires_have_the_same_message_id() -> None:
    fires = [("a", "b", 1), ("a", "b", 11), ("a/b", "c", 1), ("a", "b/c", 1), ("a", "b%2Fc", 1), ("a%2Fb", "c", 1)]

    assert len({message_id(TaskKey(host, name), at) for host, name, at in fires}) == len(fires)
