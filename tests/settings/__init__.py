"""Files and the environment as settings."""
