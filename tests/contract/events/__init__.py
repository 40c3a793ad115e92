"""Configurations, what events do to them, and the outbox."""
