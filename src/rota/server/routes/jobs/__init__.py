"""The operations on jobs: one, many, lists, logs."""
