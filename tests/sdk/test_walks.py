"""What takes several requests, without a server: which are made, and how long is waited in between."""

from collections.abc import Iterable
from typing import Any

import pytest

from rota.model.job import JobState
from rota.sdk.ask import Ask
from rota.sdk.shapes import Job, JobPage
from rota.sdk.walks import Found, Pause, WaitedTooLong, jobs, wait


def job(state: JobState) -> Job:
    return Job(uuid="j", job_type_uuid="t", state=state)


class Walker:
    """Makes a walk with these answers, and notes every step."""

    def __init__(self, answers: Iterable[object]) -> None:
        self._answers = iter(answers)
        self.asked: list[Ask[Any]] = []
        self.pauses: list[float] = []
        self.found: list[Any] = []

    def make(self, walk: Any) -> None:
        answer: object = None
        while True:
            try:
                step = walk.send(answer)
            except StopIteration:
                return
            answer = self._take(step)

    def _take(self, step: object) -> object:
        if isinstance(step, Pause):
            self.pauses.append(step.seconds)
        elif isinstance(step, Found):
            self.found.append(step.item)
        elif isinstance(step, Ask):
            self.asked.append(step)
            return next(self._answers)
        return None


def test_waiting_asks_ever_more_seldom_but_once_a_second_at_least() -> None:
    walker = Walker(map(job, [JobState.QUEUED] * 3 + [JobState.RUNNING] * 7 + [JobState.FAILED]))

    walker.make(wait("j"))

    assert [one.state for one in walker.found] == [JobState.FAILED]
    assert walker.pauses[:3] == pytest.approx([0.05, 0.075, 0.1125])
    assert walker.pauses[8:] == [1.0, 1.0]


def test_waiting_ends_when_the_time_is_over_and_not_later() -> None:
    walker = Walker([job(JobState.RUNNING)] * 10)

    with pytest.raises(WaitedTooLong, match=r"is still running after 0\.2 s"):
        walker.make(wait("j", timeout_s=0.2))

    assert walker.pauses == pytest.approx([0.05, 0.075, 0.075])
    assert len(walker.asked) == 4


def test_a_job_that_ended_at_the_last_look_has_ended_in_time() -> None:
    walker = Walker(map(job, [JobState.RUNNING, JobState.SUCCEEDED]))

    walker.make(wait("j", timeout_s=0.01))

    assert (walker.pauses, [one.state for one in walker.found]) == ([0.01], [JobState.SUCCEEDED])


def test_every_page_is_asked_for_with_the_cursor_of_the_one_before() -> None:
    walker = Walker([JobPage([job(JobState.QUEUED)] * 2, "a"), JobPage([], "b"), JobPage([job(JobState.FAILED)])])

    walker.make(jobs(page=2))

    assert [one.query for one in walker.asked] == [
        {"limit": 2},
        {"limit": 2, "cursor": "a"},
        {"limit": 2, "cursor": "b"},
    ]
    assert len(walker.found) == 3
