"""Queues in Redis: their names, pauses and counts, and how a node waits on one. The jobs themselves are in `jobs`."""
