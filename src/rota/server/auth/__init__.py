"""The key that a request shows. Whose a key is, what it may do and how often one may ask is in `engine/access/keys`."""
