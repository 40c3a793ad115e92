"""What the engine does when a store fails at any of its calls or holds records that cannot be read."""
