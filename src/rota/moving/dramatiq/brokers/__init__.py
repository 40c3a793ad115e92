"""Brokers by their kind."""
