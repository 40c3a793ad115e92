"""Queues: what they give out, what is counted, and waiting for work."""
