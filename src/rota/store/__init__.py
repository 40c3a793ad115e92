"""Where everything is kept. `open_store(url)` gives a store; `store.py` is the contract that all of them keep."""

from rota.store.open import open_store
from rota.store.store import Store

__all__ = ["Store", "open_store"]
