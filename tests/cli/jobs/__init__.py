"""The verbs that make and show jobs and their logs."""
