"""Several processes of one worker: the supervisor that starts, replaces and ends them, and their line to it."""
