"""The verbs of job types, node types and files that define them."""
