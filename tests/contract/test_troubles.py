"""What is wrong with a store right now. Each kind of store has its own troubles, which are tested with real ones."""

from rota.store import Store
from tests.contract.building import claim_one, enqueue, finish, new_queue, spec, succeed


def test_a_store_that_is_well_has_no_troubles(store: Store) -> None:
    queue = new_queue()
    enqueue(store, spec(queue))
    finish(store, succeed(claim_one(store, queue)))

    assert store.troubles() == []
