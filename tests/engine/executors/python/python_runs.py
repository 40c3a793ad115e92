"""Functions run by the executor `python`."""

import asyncio
from typing import Any

from rota.engine.executors.python.python import PythonExecutor
from rota.model.runs.outcome import Outcome, OutcomeKind
from tests.engine.executors import jobs
from tests.engine.executors.runs import LoggedRun, make_run

JOBS = jobs.__name__


def run_of(function: str, **arguments: object) -> LoggedRun:
    return make_run({"function": f"{JOBS}:{function}"}, arguments)


def call(runner: asyncio.Runner, function: str, **arguments: object) -> Outcome:
    executor = PythonExecutor()
    try:
        return runner.run(executor.run(run_of(function, **arguments)))
    finally:
        runner.run(executor.close())


def result_of(outcome: Outcome) -> Any:
    assert outcome.kind is OutcomeKind.SUCCEEDED, outcome
    return outcome.results
