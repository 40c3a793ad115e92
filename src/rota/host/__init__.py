"""One process of an installation: its roles, signals, logging, and its end whatever a job's code does."""
