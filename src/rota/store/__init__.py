"""Where everything is kept. `open_store(url)` gives a store; `store.py` and the files of its nouns are the contract
that all of them keep, `sqlite` and `redis` the stores, `records` what these share. No rule of the engine lives here.
"""

from rota.store.open import open_store
from rota.store.store import Store

__all__ = ["Store", "open_store"]
