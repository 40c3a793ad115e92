"""The documents that Rota follows, each walked from top to bottom."""
