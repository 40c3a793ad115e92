"""Commands run by the executor `bash`."""

import asyncio

from rota.engine.executors.bash.bash import BashExecutor
from rota.model.runs.outcome import Outcome, OutcomeKind
from tests.engine.executors.runs import make_run, results_of


def run_bash(
    runner: asyncio.Runner, metadata: dict[str, object], arguments: dict[str, object] | None = None
) -> Outcome:
    return runner.run(BashExecutor().run(make_run(metadata, arguments)))


def stdout_of(outcome: Outcome) -> str:
    assert outcome.kind is OutcomeKind.SUCCEEDED, outcome
    return str(results_of(outcome)["stdout"])
