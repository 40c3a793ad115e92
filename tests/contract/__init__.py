"""The promises of `rota.store`, checked on every store: a file or folder per noun, and what they build upon."""
