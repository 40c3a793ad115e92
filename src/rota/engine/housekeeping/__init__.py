"""What keeps a store in order: history within its bounds, records that nobody can read, whether it can be written."""
