"""The store as a whole: what it says of itself, and what holds for all nouns together."""
