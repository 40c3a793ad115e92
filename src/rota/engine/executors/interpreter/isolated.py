"""One attempt of any executor in a process of its own, where it can hurt nobody: for jobs that are suspected of the
death of their node.

Commands are run so too, although each is a process anyway: one that kills its parent would kill the node.
"""

import sys

from rota.engine.executors.executor import Run
from rota.engine.executors.interpreter.interpreter import Interpreter
from rota.engine.executors.registry import ExecutorRegistry
from rota.model.runs.outcome import Outcome, OutcomeKind, failed

_CHILD = "rota.engine.executors.interpreter.isolated_child"
POISON = "poison"
"""The type of the error of a job that killed its process."""


async def run_isolated(run: Run, executors: ExecutorRegistry) -> Outcome:
    """Run one attempt to its end, as `Executor.run` does it; see there for cancellation.

    If the process dies while the job's own code runs, the outcome is refused, with an error of the type `poison`. An
    executor that was made elsewhere, such as `event`, which has the node's own objects, cannot be made in another
    process. It is run here.
    """
    name = run.job_type.executor
    if not executors.can_make(name):
        return await executors.get(name).run(run)
    interpreter = Interpreter(run, _CHILD, executors.options)
    try:
        return await interpreter.run() or _died(interpreter)
    except OSError as error:
        return failed({"type": "spawn", "message": f"cannot start {sys.executable!r}: {error}"})


def _died(interpreter: Interpreter) -> Outcome:
    """The process ended without an outcome. Once the job had begun, only the job itself is to blame for that; unless
    somebody asked the process to stop, as a supervisor may ask all that it finds."""
    message = (
        f"it was run in a process of its own, which ended with {interpreter.how_it_ended()} before it had a result"
    )
    errors = {"message": message, "exit_code": interpreter.exit_code}
    if interpreter.died_in_job:
        return Outcome(OutcomeKind.REFUSED, None, {"type": POISON, **errors})
    return failed({"type": "process", **errors})
