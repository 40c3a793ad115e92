"""What executors return, made fit for a store."""

from rota.errors import InvalidInput
from rota.model.limits import MAX_RESULT_BYTES, encode_json
from rota.model.outcome import Outcome, OutcomeKind, failed


def checked(outcome: object) -> Outcome:
    """An outcome that the store can carry: a third-party executor may return anything."""
    if not isinstance(outcome, Outcome) or not isinstance(outcome.kind, OutcomeKind):
        return failed({"type": "outcome", "message": f"the executor returned {outcome!r:.200}, which is no outcome"})
    if outcome.results is None and outcome.errors is None:
        return outcome
    try:
        encode_json("results", outcome.results, MAX_RESULT_BYTES)
        encode_json("errors", outcome.errors, MAX_RESULT_BYTES)
    except InvalidInput as error:
        return failed({"type": "result", "message": str(error)})
    return outcome
