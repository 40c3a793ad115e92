"""How a job's arguments reach its command: each as a variable, and all of them as JSON where the job type asks for it.

`command` and `environment` are the words and variables that a job adds; everything else is an argument. Its variable is
ROTA_ARG_ and its name in capitals, in which whatever is no letter or digit is an underscore. Text is given as it is,
anything else as JSON, null as nothing.
"""

import re

import msgspec

from rota.engine.executors.metadata import check_text
from rota.errors import InvalidInput

PREFIX = "ROTA_ARG_"
ON_STDIN = "arguments_on_stdin"
"""The key of the metadata that asks for all arguments as JSON."""
FILE_VARIABLE = "ROTA_ARGUMENTS_FILE"
FILE = "/dev/stdin"
MAX_VARIABLE_BYTES = 100_000
"""Linux takes 131,071 bytes in a variable, its name included."""
_ADDED = ("command", "environment")
_OTHER = re.compile(r"[^A-Za-z0-9]")


def own_arguments(arguments: dict[str, object]) -> dict[str, object]:
    """Without what the job adds to the command itself."""
    return {name: value for name, value in arguments.items() if name not in _ADDED}


def argument_variables(arguments: dict[str, object], *, on_stdin: bool) -> dict[str, str]:
    """A variable for each argument. One that is too long is left out where all are on standard input, else refused."""
    found: dict[str, str] = {}
    for name, value in own_arguments(arguments).items():
        variable, text = variable_of(name), _text_of(name, value)
        if variable in found:
            raise InvalidInput(f"arguments.{name}", f"and another argument are both {variable}; rename one of them")
        if len(text.encode()) <= MAX_VARIABLE_BYTES:
            found[variable] = text
        elif not on_stdin:
            reason = f"is too long for a variable ({MAX_VARIABLE_BYTES} bytes); give the job type {ON_STDIN}: true"
            raise InvalidInput(f"arguments.{name}", reason)
    return {**found, FILE_VARIABLE: FILE} if on_stdin else found


def variable_of(name: str) -> str:
    return PREFIX + _OTHER.sub("_", name).upper()


def _text_of(name: str, value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return check_text(f"arguments.{name}", value)
    return msgspec.json.encode(value).decode()
