"""The verbs of schedules and of what comes when."""
