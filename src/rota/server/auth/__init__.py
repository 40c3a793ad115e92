"""The key that a request shows, and how often one may ask. Whose a key is, and what it may do, is in `engine/keys`."""
