"""The table of tasks that wait for the end of a transaction."""
