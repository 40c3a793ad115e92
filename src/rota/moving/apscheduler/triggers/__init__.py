"""When jobs run: by the clock, every so often, once."""
