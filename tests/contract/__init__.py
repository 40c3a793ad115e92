"""The promises of `rota.store.store`, checked on every store. One file per noun."""
