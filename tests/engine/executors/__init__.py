"""The built-in executors, with real processes and threads, on both event loops."""
