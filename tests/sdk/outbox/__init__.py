"""The outbox, on a real PostgreSQL and on SQLite."""
