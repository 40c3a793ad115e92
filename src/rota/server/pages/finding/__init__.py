"""Finding things: the search of jobs with its suggestions, and the command palette."""
