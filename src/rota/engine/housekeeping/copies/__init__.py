"""Copies of an installation: a backup of it, one restored, and one brought to another store."""
