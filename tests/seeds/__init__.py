"""One file per seed document: its own examples, in its order."""
