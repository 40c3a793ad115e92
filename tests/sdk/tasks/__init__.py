"""Tasks of Python programs, on real stores and with real workers."""
