"""The identity of what is defined in a file: made from its name."""

from uuid import UUID, uuid5

_NAMESPACE = UUID("8c1f7d5e-3f5b-5d0a-9f57-6f0f1a7b2c3d")
"""Fixed for ever: another one would give every definition without a uuid a new identity."""


def definition_uuid(kind: str, name: str) -> str:
    """The uuid of a definition that gives none: the same for a name on every machine and at every start."""
    return str(uuid5(_NAMESPACE, f"{kind}:{name}"))
