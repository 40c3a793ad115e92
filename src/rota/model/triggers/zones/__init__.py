"""Time zones, their offsets, and dates in them."""
