"""One process of an installation: what it drives, how it is, and how it hears what changed. Claiming is elsewhere."""
