"""Redis servers that fail or refuse, under real processes."""
