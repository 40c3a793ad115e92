"""Configurations in Redis, what events did to them, and the ends of jobs that are to become events."""
