"""What went wrong in an attempt, in words. Executors have their own shapes of errors and results; all are read here."""

import signal

import msgspec

_MOST_CHARACTERS = 200
"""Of an error within a sentence or a log line."""


def failure_words(errors: object, results: object = None) -> str | None:
    """One line, such as `exit code 3` or `killed by signal 9 (SIGKILL)`; None if nothing is known to be wrong."""
    if errors is None:
        return _exit_words(results)
    if isinstance(errors, str):
        return errors
    if isinstance(errors, dict):
        kind, message = errors.get("type"), errors.get("message")
        if "traceback" in errors:
            return f"{kind}: {message}" if message else str(kind)
        if isinstance(message, str) and message:
            return message
    return msgspec.json.encode(errors).decode()


def _exit_words(results: object) -> str | None:
    exit_code = results.get("exit_code") if isinstance(results, dict) else None
    if not isinstance(exit_code, int) or exit_code == 0:
        return None
    return exit_words(exit_code)


def exit_words(exit_code: int) -> str:
    """An exit code as processes have it: negative for a signal."""
    if exit_code >= 0:
        return f"exit code {exit_code}"
    return f"killed by signal {-exit_code}{_signal_name(-exit_code)}"


def _signal_name(number: int) -> str:
    try:
        return f" ({signal.Signals(number).name})"
    except ValueError:
        return ""


def cut(text: str) -> str:
    """A piece of text as one line of bounded length."""
    line = " ".join(text.split())
    return line if len(line) <= _MOST_CHARACTERS else f"{line[:_MOST_CHARACTERS]}..."
