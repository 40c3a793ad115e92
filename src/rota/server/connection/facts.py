"""What is known of a connection, kept as long as it lives. Each of its requests has it in its scope."""

from starlette.types import Scope

CONNECTION = "rota.connection"
"""Key in the scope: a dictionary that all requests of one connection share."""
IS_OWN_PROGRAM = "is_own_program"
END = "end"
"""Ends the connection at once, whatever is under way."""
IS_GONE = "is_gone"
"""There once nobody is at its other end, or it was ended."""


def is_client_gone(scope: Scope) -> bool:
    """Whether nobody is there for the answer to a request."""
    return IS_GONE in scope.get(CONNECTION, ())
