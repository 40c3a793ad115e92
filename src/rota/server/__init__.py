"""The HTTP surface: one ASGI app, its keys, and the socket it listens on."""
