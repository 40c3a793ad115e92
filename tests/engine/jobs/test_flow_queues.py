"""Queues of flows: known at once where the flow was made, and elsewhere a moment later."""

from rota.engine.jobs.flow_queues import LOOK_MS, FlowQueues
from rota.store import Store
from tests.contract.building import NOW


def test_a_queue_is_known_at_once_where_its_flow_was_made_and_soon_elsewhere(store: Store) -> None:
    here, elsewhere = FlowQueues(store), FlowQueues(store)
    assert (here.all(NOW), elsewhere.all(NOW)) == ([], [])

    here.note("b")
    here.note("a")

    assert here.all(NOW) == ["a", "b"]
    assert elsewhere.all(NOW + LOOK_MS - 1) == [], "nobody asks the store all the time"
    assert elsewhere.all(NOW + LOOK_MS) == ["a", "b"]
    assert FlowQueues(store).all(NOW) == ["a", "b"]


def test_a_clock_that_was_set_back_delays_nothing(store: Store) -> None:
    here, elsewhere = FlowQueues(store), FlowQueues(store)
    elsewhere.all(NOW)
    here.note("a")

    assert elsewhere.all(NOW - 1) == ["a"]
