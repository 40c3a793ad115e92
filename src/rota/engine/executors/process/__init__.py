"""Processes of this machine that run jobs: starting, reading, ending them. Knows nothing of what they run."""
