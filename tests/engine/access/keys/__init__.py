"""Keys: made, found, and judged."""
