"""What there is to say about a configuration and its last events, with the events that counted."""

from rota.model.events.configuration import Configuration
from rota.model.events.evaluation import Evaluation
from rota.model.events.explanation import Explanation, explain, with_events_that_counted
from rota.store.contract.events import ConfigurationEntry
from rota.store.contract.store import Store

_MOST_EVENTS = 1_000
"""The latest that validated something; an evaluation whose events are older than these cites none."""


def explanation_of(store: Store, entry: ConfigurationEntry, now: int) -> Explanation:
    """Why a configuration fired or did not."""
    found = evaluations_of(store, entry.configuration, limit=1)
    return explain(entry.configuration, entry.state, found[0] if found else None, now * 1_000)


def evaluations_of(store: Store, configuration: Configuration, *, limit: int) -> list[Evaluation]:
    """What each of the last events that matched meant, latest first."""
    found = store.list_evaluations(configuration.uuid, limit=limit)
    if not any(_cites_a_later_event(one) for one in found):
        return list(found)
    valid = store.list_validations(configuration.uuid, limit=_MOST_EVENTS)
    counted = [(one.dependency, one.event) for one in valid]
    return [with_events_that_counted(configuration, one, counted) for one in found]


def _cites_a_later_event(evaluation: Evaluation) -> bool:
    return any(row.age_us is not None and row.age_us < 0 for row in evaluation.matrix)
