"""Pages that stay up to date while they are open."""
