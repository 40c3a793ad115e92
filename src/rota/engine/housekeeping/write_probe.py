"""Whether a store can be written: one that answers may still refuse every write."""

from rota.model.ids import new_id
from rota.store.contract.store import Store

_SETTING = "probe:"


def keeps_a_value(store: Store) -> bool:
    """Write a value and take it back; tells whether it was there. Raises what the store raises when it refuses."""
    name = f"{_SETTING}{new_id(store.now())}"
    store.put_setting(name, "written by rota doctor")
    return store.delete_setting(name)
