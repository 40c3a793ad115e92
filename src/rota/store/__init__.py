"""Where everything is kept. `open_store(url)` gives a store; `contract` says, noun by noun, what all of them promise,
`sqlite` and `redis` are the stores, `records` what these share. No rule of the engine lives here.
"""

from rota.store.contract.store import Store
from rota.store.open import open_store

__all__ = ["Store", "open_store"]
