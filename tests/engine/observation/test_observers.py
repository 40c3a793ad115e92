"""Who hears of what."""

import logging

import pytest

from rota.engine.observation.happenings import JobsClaimed, JobsSettled, NodeLeft, StoreAnswered, StoreFailed
from rota.engine.observation.observers import Observers
from tests.engine.observation.hearing import Heard

LEFT = NodeLeft("node", "queue")


def test_a_listener_hears_of_the_kinds_that_it_asked_for() -> None:
    observers = Observers()
    heard: list[NodeLeft] = []
    observers.add(NodeLeft, heard.append)

    observers.tell(LEFT)
    observers.tell(StoreAnswered())

    assert heard == [LEFT]


def test_a_listener_that_was_removed_hears_nothing_more_and_others_do() -> None:
    observers = Observers()
    gone: list[NodeLeft] = []
    stays: list[NodeLeft] = []
    observers.add(NodeLeft, gone.append)
    observers.add(NodeLeft, stays.append)

    observers.remove(NodeLeft, gone.append)
    observers.tell(LEFT)

    assert (gone, stays) == ([], [LEFT])


def test_a_listener_that_fails_hurts_neither_the_teller_nor_the_others(caplog: pytest.LogCaptureFixture) -> None:
    def fail(happening: NodeLeft) -> None:
        raise RuntimeError("a bug in a listener")

    observers = Observers()
    heard: list[NodeLeft] = []
    observers.add(NodeLeft, fail)
    observers.add(NodeLeft, heard.append)

    observers.tell(LEFT)

    assert heard == [LEFT]
    (record,) = caplog.records
    assert (record.name, record.message) == ("rota.observation", "observer failed")
    assert record.__dict__["happening"] == "NodeLeft"
    assert record.exc_info


def test_nobody_wants_to_hear_of_jobs_until_somebody_listens() -> None:
    observers = Observers()
    heard: list[JobsClaimed] = []

    assert not observers.wants(JobsClaimed)
    observers.add(JobsClaimed, heard.append)
    assert observers.wants(JobsClaimed)
    observers.remove(JobsClaimed, heard.append)
    assert not observers.wants(JobsClaimed)


def test_the_log_wants_to_hear_of_jobs_only_when_it_is_to_tell_everything(caplog: pytest.LogCaptureFixture) -> None:
    observers = Observers()

    with caplog.at_level(logging.INFO, "rota.jobs"):
        assert not observers.wants(JobsSettled)
    with caplog.at_level(logging.DEBUG, "rota.jobs"):
        assert observers.wants(JobsSettled)
    assert observers.wants(StoreFailed)


def test_a_test_can_hear_everything() -> None:
    heard = Heard()

    heard.observers.tell(LEFT)

    assert heard.the(NodeLeft) is LEFT
