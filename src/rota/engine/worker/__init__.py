"""Claim, run, settle: the worker of one queue and its parts. How things are run is in `engine/executors`."""
