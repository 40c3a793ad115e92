"""Sync tasks, as a dialect."""
