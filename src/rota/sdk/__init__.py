"""What Python programs import."""
