"""Events, configurations and the rules by which they are judged. Nothing here asks a store."""
