"""A Python process for one run: for functions that want their own, and for suspects of any executor."""
