"""The light scheduler: task definitions that put due tasks onto topics."""
