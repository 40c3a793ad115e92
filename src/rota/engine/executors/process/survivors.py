"""What a stop could not kill and left behind, told in the log of its job and kept for its outcome."""

from rota.engine.executors.executor import Run
from rota.engine.executors.output import capped_log
from rota.engine.executors.process.child import Child

_MOST_NAMED = 10


def tell_survivors(run: Run, child: Child) -> None:
    """Does nothing when all was killed."""
    if not child.survivors:
        return
    more = len(child.survivors) - _MOST_NAMED
    run.can_be_stopped = False
    run.survivors = ", ".join(child.survivors[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
    capped_log(run)(f"not killed, because this node's user may not do that: {run.survivors}", "error")
