"""Executors of a few lines that need nothing beside Rota: a log line, an event, a record of a topic."""
