"""Live logs: what all who follow a job share, and how many followers and how much memory there may be."""
