"""How many jobs run at a time."""
