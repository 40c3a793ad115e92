"""Executors: the ways to run a job. `executor.py` is their contract, `registry.py` finds them by name."""
