"""How many jobs a worker wants, and when it asks: what it claims ahead, and what it does when it runs short."""
