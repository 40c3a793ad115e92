"""Why something does not run yet: from facts to an answer. The facts are gathered in `engine/why/`."""
