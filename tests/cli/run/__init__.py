"""The verbs that run a node."""
