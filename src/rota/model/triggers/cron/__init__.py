"""Cron lines: reading them, and the instants at which they fire."""
