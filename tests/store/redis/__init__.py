"""What holds for the Redis store only: its server's limits and troubles, and what its steps cost."""
