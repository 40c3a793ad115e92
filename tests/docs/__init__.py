"""What the documents say is true: their examples run, their links lead somewhere, the files they name exist."""
