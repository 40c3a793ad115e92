"""The Redis keys of the original: what tasks look like there, and what others put there."""
