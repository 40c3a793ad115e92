"""What is known of a connection, kept as long as it lives. Each of its requests has it in its scope."""

CONNECTION = "rota.connection"
"""Key in the scope: a dictionary that all requests of one connection share."""
IS_OWN_PROGRAM = "is_own_program"
END = "end"
"""Ends the connection at once, whatever is under way."""
