"""Schedules in Redis, their names, and how they move from queue to queue."""
