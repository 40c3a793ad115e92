"""The document's Redis keys: what tasks look like there, and what others put there."""
