"""Publishing to topics, from which other programs read."""
