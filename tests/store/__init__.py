"""What holds for one kind of store only."""
