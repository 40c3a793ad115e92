"""The schedulers: in a thread, in this thread, on a loop."""
