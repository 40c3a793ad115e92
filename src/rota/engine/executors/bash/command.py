"""The argv of a bash job: the job type's command and the job's words, put together so that words stay words.

An array is run as it is, without a shell, and the words follow as arguments. A string is a script for bash: the words
are its positional parameters, and `"$@"` is put after it when the job has words. A script that says `"$@"` itself,
say `for f in "$@"; do ...; done` or `cat "$@" | sort`, places them, and nothing is added. So `"$@"` belongs to the
last command of `echo a; echo b`; where that is not a command to which words can be added, the job is refused.
"""

import shlex

from rota.engine.executors.bash.shell_tail import why_no_words
from rota.engine.executors.metadata import check_text
from rota.errors import InvalidInput
from rota.model.access.openings import AFTER_DASHES, ALLOW_WORDS

SHELL = "bash"
_PLACE = '"$@"'


def check_command(field: str, value: object) -> str | list[str]:
    """A job type's command: a script, or a program with its arguments."""
    if isinstance(value, str) and value.strip():
        return check_text(field, value)
    if isinstance(value, list) and value:
        words = check_words(field, value)
        if words[0]:
            return words
    raise InvalidInput(field, f"must be a string or an array of strings, and not empty; got {value!r}")


def check_words(field: str, value: list[object]) -> list[str]:
    return [check_text(f"{field}[{index}]", word) for index, word in enumerate(value)]


def job_words(field: str, value: object) -> list[str]:
    """A job's own part of the command, as words. A string is split as a shell would, but never interpreted."""
    if value is None:
        return []
    if isinstance(value, list):
        return check_words(field, value)
    try:
        return shlex.split(check_text(field, value))
    except ValueError as error:
        raise InvalidInput(field, f"cannot be split into words: {error}") from None


def check_dashes(command: str | list[str], allowed_words: bool | str) -> None:
    """A script that places the words itself has to place the `--` too: nobody else knows where it belongs."""
    if allowed_words == AFTER_DASHES and isinstance(command, str) and _PLACE in command:
        raise InvalidInput(
            f"metadata.{ALLOW_WORDS}", f'the command places "$@" itself; write -- {_PLACE} there, and true here'
        )


def build_argv(command: str | list[str], words: list[str], *, after_dashes: bool = False) -> list[str]:
    """What to run. No word can become anything but one argument; `after_dashes` keeps them from being options."""
    if after_dashes and words:
        words = [AFTER_DASHES, *words]
    if isinstance(command, list):
        return [*command, *words]
    if not words or _PLACE in command:
        return [SHELL, "-c", command, SHELL, *words]
    if reason := why_no_words(command):
        raise InvalidInput(
            "command", f'the job has words, but {command!r} cannot take them: {reason}; write "$@" where they belong'
        )
    return [SHELL, "-c", f"{command.rstrip()} {_PLACE}", SHELL, *words]


def build_raw_argv(command: str | list[str], field: str, extra: object) -> list[str]:
    """What to run when the job type trusts its jobs: both parts are one script, as Synchrony itself has it."""
    if extra is None or extra == []:
        return [SHELL, "-c", _as_script(command)]
    return [SHELL, "-c", f"{_as_script(command)} {_as_script(check_command(field, extra))}"]


def _as_script(command: str | list[str]) -> str:
    """Items of an array stand in double quotes, so the shell still expands variables in them."""
    if isinstance(command, str):
        return command
    return " ".join('"' + word.replace("\\", "\\\\").replace('"', '\\"') + '"' for word in command)
