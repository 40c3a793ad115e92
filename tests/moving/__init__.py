"""Programs of other task queues, and what their shims carry and refuse."""
