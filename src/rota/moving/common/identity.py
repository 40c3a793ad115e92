"""Ids of jobs. Others take any text; Rota's are UUIDs, so a text has one of its own, the same in every process."""

from uuid import UUID, uuid5

from rota.errors import InvalidInput

_NAMESPACE = UUID("5b7c2c0e-8a55-5a1d-b7b6-2f3c1a9e4d60")
"""Fixed for ever: another one would give every named job a new id."""
_MAX = 512


def job_id_of(field: str, name: object) -> str:
    """The job's id: the text itself if it is a UUID."""
    if not isinstance(name, str) or not 0 < len(name) <= _MAX:
        raise InvalidInput(field, f"must be text of 1 to {_MAX} characters, got {name!r:.100}")
    try:
        return str(UUID(name))
    except ValueError:
        return str(uuid5(_NAMESPACE, name))
