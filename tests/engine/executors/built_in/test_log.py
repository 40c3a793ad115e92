"""Executor `log`: one line, in two places."""

import asyncio
import logging

import pytest

from rota.engine.executors.built_in.log import LogExecutor
from rota.errors import InvalidInput
from rota.model.limits import MAX_LOG_MESSAGE_BYTES
from rota.model.runs.outcome import succeeded
from tests.engine.executors.runs import JOB_ID, job_type, make_run


def test_a_line_is_in_the_log_of_the_job_and_of_the_node(
    runner: asyncio.Runner, caplog: pytest.LogCaptureFixture
) -> None:
    run = make_run({}, {"file": "a\nb"})

    with caplog.at_level(logging.INFO, "rota.job"):
        outcome = runner.run(LogExecutor().run(run))

    line = 'job report ran with {"file":"a\\nb"}'
    assert outcome == succeeded()
    assert run.lines == [(line, "info")]
    assert [record.getMessage() for record in caplog.records] == [line]


def test_places_are_filled_in_by_name_only(runner: asyncio.Runner) -> None:
    run = make_run({"message": "{id} {attempt} {name} {name.__class__} {other} {} %s {{x}}"}, attempt=2)

    runner.run(LogExecutor().run(run))

    assert run.messages() == [f"{JOB_ID} 2 report {{name.__class__}} {{other}} {{}} %s {{{{x}}}}"]


def test_arguments_for_which_the_message_has_no_place_follow_it(runner: asyncio.Runner) -> None:
    with_some, without = make_run({"message": "done"}, {"day": 1}), make_run({"message": "done"})

    runner.run(LogExecutor().run(with_some))
    runner.run(LogExecutor().run(without))

    assert (with_some.messages(), without.messages()) == (['done {"day":1}'], ["done"])


def test_a_long_line_is_cut(runner: asyncio.Runner) -> None:
    run = make_run({}, {"text": "x" * 100_000})

    runner.run(LogExecutor().run(run))

    assert len(run.messages()[0]) == MAX_LOG_MESSAGE_BYTES


@pytest.mark.parametrize("metadata", [{"message": 5}, {"mesage": "x"}])
def test_wrong_metadata_is_refused(metadata: dict[str, object]) -> None:
    with pytest.raises(InvalidInput):
        LogExecutor().check(job_type("log", metadata))
