"""A module that cannot be imported, because of what it does itself."""

raise RuntimeError("no connection at import")
