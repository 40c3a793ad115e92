"""What a job failed with, as the exception that it was."""

import builtins

from rota.errors import JobFailed


def original_error(failed: JobFailed) -> Exception:
    """A built-in exception with the message that it had; any other one stays what Rota knows of it."""
    errors = failed.errors
    if not isinstance(errors, dict):
        return failed
    kind = getattr(builtins, str(errors.get("type")), None)
    if not (isinstance(kind, type) and issubclass(kind, Exception)):
        return failed
    try:
        return kind(str(errors.get("message", "")))
    except TypeError:  # such as UnicodeDecodeError, which needs more than a message
        return failed
