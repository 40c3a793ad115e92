"""Worker processes that are killed, stopped, suspended, strained or flooded, on every store that processes share."""
