"""Queues: what they give out, what is in them, what happened in them, and waiting for work. `claims` gives it out."""
