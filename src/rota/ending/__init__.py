"""What a process that runs jobs ends by: the signals that it hears, and the last resort when its end does not come."""
