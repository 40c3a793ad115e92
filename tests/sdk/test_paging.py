"""What takes several requests, without a server: which are made, and how long is waited in between."""

from collections.abc import Iterable
from math import ceil
from typing import Any

import pytest

from rota.clock import ManualClock
from rota.model.job import JobState
from rota.sdk.call import Call
from rota.sdk.paging import Found, Pause, WaitedTooLong, jobs, waiting
from rota.sdk.shapes import Job, JobPage


def job(state: JobState) -> Job:
    return Job(uuid="j", job_type_uuid="t", state=state)


class Steps:
    """Answers requests with these answers, and notes every step. Pauses take their time, and so may answers."""

    def __init__(self, answers: Iterable[object], *, answer_ms: int = 0) -> None:
        self._answers = iter(answers)
        self._answer_ms = answer_ms
        self.clock = ManualClock()
        self.asked: list[Call[Any]] = []
        self.pauses: list[float] = []
        self.found: list[Any] = []

    def make(self, paging: Any) -> None:
        answer: object = None
        while True:
            try:
                step = paging.send(answer)
            except StopIteration:
                return
            answer = self._take(step)

    def _take(self, step: object) -> object:
        if isinstance(step, Pause):
            self.pauses.append(step.seconds)
            self.clock.advance(ceil(round(step.seconds * 1000, 6)))
        elif isinstance(step, Found):
            self.found.append(step.item)
        elif isinstance(step, Call):
            self.asked.append(step)
            self.clock.advance(self._answer_ms)
            return next(self._answers)
        return None


def test_waiting_asks_ever_more_seldom_but_once_a_second_at_least() -> None:
    steps = Steps(map(job, [JobState.QUEUED] * 3 + [JobState.RUNNING] * 7 + [JobState.FAILED]))

    steps.make(waiting("j", steps.clock))

    assert [one.state for one in steps.found] == [JobState.FAILED]
    assert steps.pauses[:3] == pytest.approx([0.05, 0.075, 0.1125])
    assert steps.pauses[8:] == [1.0, 1.0]


def test_waiting_ends_when_the_time_is_over_and_not_later() -> None:
    steps = Steps([job(JobState.RUNNING)] * 10)

    with pytest.raises(WaitedTooLong, match=r"is still running after 0\.2 s"):
        steps.make(waiting("j", steps.clock, timeout_s=0.2))

    assert steps.pauses == pytest.approx([0.05, 0.075, 0.075])
    assert len(steps.asked) == 4


def test_the_time_that_answers_take_counts() -> None:
    steps = Steps([job(JobState.RUNNING)] * 10, answer_ms=80)

    with pytest.raises(WaitedTooLong):
        steps.make(waiting("j", steps.clock, timeout_s=0.2))

    assert steps.pauses == pytest.approx([0.05])
    assert len(steps.asked) == 2


def test_a_job_that_ended_at_the_last_look_has_ended_in_time() -> None:
    steps = Steps(map(job, [JobState.RUNNING, JobState.SUCCEEDED]))

    steps.make(waiting("j", steps.clock, timeout_s=0.01))

    assert (steps.pauses, [one.state for one in steps.found]) == ([0.01], [JobState.SUCCEEDED])


def test_every_page_is_asked_for_with_the_cursor_of_the_one_before() -> None:
    steps = Steps([JobPage([job(JobState.QUEUED)] * 2, "a"), JobPage([], "b"), JobPage([job(JobState.FAILED)])])

    steps.make(jobs(page=2))

    assert [one.query for one in steps.asked] == [
        {"limit": 2},
        {"limit": 2, "cursor": "a"},
        {"limit": 2, "cursor": "b"},
    ]
    assert len(steps.found) == 3
