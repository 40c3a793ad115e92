"""The keys of an installation: made, kept as hashes, revoked, and whose each is. How requests show them is not here."""
