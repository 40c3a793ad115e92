"""The verbs of events and configurations."""
