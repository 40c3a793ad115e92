"""Why a schedule makes no job now: which of the things that hold is told."""

import pytest
from msgspec import structs

from rota.model.job_type import JobType
from rota.model.node import Node, NodeType
from rota.model.schedules.schedule import Overlap, Schedule, ScheduleState, Tick, TickStatus
from rota.model.schedules.ticking import Situation
from rota.model.triggers.trigger import CronTrigger
from rota.model.why.answer import Answer, Code
from rota.model.why.queue import QueueFacts
from rota.model.why.schedule import ScheduleFacts, why_schedule

NOW = 1_700_000_040_000
"""A full minute."""
MINUTE = 60_000
NODE = Node(uuid="n", node_type="q", last_ping=NOW, slots=2)
OPEN = QueueFacts(now=NOW, queue="q", node_type=NodeType(uuid="q", name="default"), nodes=(NODE,))
TRIGGER = CronTrigger(cron="* * * * *")


def facts(
    *,
    trigger: CronTrigger = TRIGGER,
    due: int | None = NOW + MINUTE,
    live: tuple[str, ...] = (),
    last: Tick | None = None,
    **fields: object,
) -> ScheduleFacts:
    given: dict[str, object] = {"uuid": "s", "name": "s", "trigger": trigger, "queue": "q", "job_type": "t"}
    return ScheduleFacts(
        schedule=Schedule(**given | fields),  # type: ignore[arg-type]
        state=ScheduleState(cursor=NOW, nominal=due, due=due, last_scheduled_at=NOW - MINUTE),
        situation=Situation(now=NOW, node="", live_jobs=live),
        queue=OPEN,
        job_type=JobType(uuid="t", name="report", executor="log"),
        has_scheduler=True,
        last=last,
    )


def codes(found: Answer) -> list[Code]:
    return [found.lead.code, *(one.code for one in found.also)]


def skipped(reason: str) -> Tick:
    return Tick(nominal=NOW, status=TickStatus.SKIPPED, decided_at=NOW, reason=reason)


def test_a_tick_that_is_due_and_will_be_skipped_names_the_job_that_is_in_its_way() -> None:
    found = why_schedule(facts(due=NOW, live=("older", "newer")))

    assert codes(found) == [Code.PREVIOUS_RUNNING]
    assert found.lead.job == "newer"


def test_a_job_of_an_earlier_tick_is_in_the_way_of_the_tick_that_was_skipped_for_it() -> None:
    found = why_schedule(facts(live=("j",), last=skipped("overlap")))

    assert codes(found) == [Code.PREVIOUS_RUNNING, Code.NOT_DUE, Code.TICK_SKIPPED]


@pytest.mark.parametrize("reason", ["excluded", "paused"])
def test_a_job_of_an_earlier_tick_is_not_blamed_for_a_tick_that_was_skipped_for_something_else(reason: str) -> None:
    assert codes(why_schedule(facts(live=("j",), last=skipped(reason)))) == [Code.NOT_DUE, Code.TICK_SKIPPED]


def test_a_job_that_lets_the_next_tick_fire_is_in_nobodys_way() -> None:
    allowed = facts(due=NOW, live=("j",), last=skipped("overlap"), overlap=Overlap.ALLOW)

    assert codes(why_schedule(allowed)) == [Code.TICK_SKIPPED]
    assert codes(why_schedule(structs.replace(allowed, last=None))) == [Code.STARTING]


def test_a_tick_that_is_due_does_not_wait_for_its_time() -> None:
    assert codes(why_schedule(facts(due=NOW))) == [Code.STARTING]
    assert codes(why_schedule(facts(due=NOW + 1))) == [Code.NOT_DUE]


@pytest.mark.parametrize(
    ("start", "code"), [(NOW - 1, Code.NOT_DUE), (NOW, Code.NOT_DUE), (NOW + 1, Code.BEFORE_START)]
)
def test_a_schedule_is_before_its_start_only_until_that_has_come(start: int, code: Code) -> None:
    assert codes(why_schedule(facts(trigger=structs.replace(TRIGGER, start=start)))) == [code]


@pytest.mark.parametrize(
    ("end", "sentence"),
    [
        (None, "It is over: no instant of it is left."),
        (NOW, "It is over: no instant of it is left."),
        (NOW - 1, "It is over: it ended at 2023-11-14 22:13:59 UTC."),
    ],
)
def test_a_schedule_that_is_over_ended_at_its_end_only_if_that_has_come(end: int | None, sentence: str) -> None:
    found = why_schedule(facts(trigger=structs.replace(TRIGGER, end=end), due=None))

    assert codes(found) == [Code.ENDED]
    assert found.lead.sentence == sentence


def test_a_row_of_several_ticks_tells_of_the_last_one() -> None:
    row = Tick(nominal=NOW - 3 * MINUTE, until=NOW - MINUTE, status=TickStatus.MISSED, decided_at=NOW, reason="paused")

    sentence = why_schedule(facts(last=row)).also[0].sentence

    assert sentence == "Its last tick, 2023-11-14 22:13:00 UTC, was missed: the schedule was paused."
    assert (
        why_schedule(facts(last=structs.replace(row, until=None)))
        .also[0]
        .sentence.startswith("Its last tick, 2023-11-14 22:11:00 UTC, ")
    )


def test_what_would_delay_a_tick_is_not_told_of_a_schedule_that_has_none() -> None:
    stopped = structs.replace(facts(paused=True, due=None, live=("j",)), has_scheduler=False)

    assert codes(why_schedule(stopped)) == [Code.PAUSED]
