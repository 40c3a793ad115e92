"""Schedules as values, and the rules of ticks. When something fires is in `model/triggers`."""
