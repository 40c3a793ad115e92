"""What a task is: read, planned as a schedule, seen from its schedule and its job, and written as JSON."""
