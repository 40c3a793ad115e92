"""The tasks of the task manager: Scheduler, Worker, and their keys."""
