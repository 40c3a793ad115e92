"""Who asks, and what they may do: keys, roles, scopes, limits. What an operation needs is said where it is declared."""
