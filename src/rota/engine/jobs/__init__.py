"""The only door through which jobs are made, cancelled, retried and deleted, and the end of their history."""
