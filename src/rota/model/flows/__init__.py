"""Flows: jobs that follow each other, and what each of them knows of those after it."""
