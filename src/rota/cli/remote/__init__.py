"""An installation behind a server: the engine's parts, as far as the HTTP API answers for them."""
