"""The log lines of jobs on their way to the store."""
