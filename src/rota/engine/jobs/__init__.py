"""The only door through which jobs are made, cancelled, retried and deleted, and queues paused. Nothing runs here."""
