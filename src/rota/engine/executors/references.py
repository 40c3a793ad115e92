"""Secrets of job types: `env:NAME` and `file:/PATH` stand for what the node that runs a job has there.

Only values of the job type are looked up, never those of a job: whoever may enqueue could read any file of the node.
A value is read for each run, so a secret that was replaced is used from the next run on; the store never has it.
"""

import os
from pathlib import Path

from rota.engine.executors.metadata import check_text
from rota.engine.executors.shortage import raise_if_short
from rota.errors import InvalidInput
from rota.model.access.masking import is_reference

_MAX_BYTES = 64 * 1024


def resolved(field: str, value: str) -> str:
    """The value itself or, of a reference, what it stands for; `InvalidInput` says what this node lacks, `NodeStrained`
    that it has no descriptor to read a file with."""
    if not is_reference(value):
        return value
    kind, _, place = value.partition(":")
    found = _read_variable(field, place) if kind == "env" else _read_file(field, place)
    return check_text(field, found)


def resolved_all(field: str, values: dict[str, str]) -> dict[str, str]:
    return {name: resolved(f"{field}.{name}", value) for name, value in values.items()}


def _read_variable(field: str, name: str) -> str:
    found = os.environ.get(name)
    if found is None:
        raise InvalidInput(field, f"this node has no variable {name}; set it where the node is started")
    return found


def _read_file(field: str, path: str) -> str:
    """Without the line end that editors put there."""
    try:
        with Path(path).open("rb") as file:
            found = file.read(_MAX_BYTES + 1)
        if len(found) > _MAX_BYTES:
            raise InvalidInput(field, f"{path} has more than {_MAX_BYTES} bytes, which is no secret")
        return found.decode().rstrip("\r\n")
    except OSError as error:
        raise_if_short(error)
        raise InvalidInput(field, f"this node cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InvalidInput(field, f"{path} is no UTF-8 text") from None
