"""Reads `queries.sql`: each query stands behind a `-- name:` line and is known by that name."""

import re
from importlib import resources

_HEAD = re.compile(r"^-- name: (\w+)$", re.MULTILINE)


def load_queries() -> dict[str, str]:
    """Query text by name, without its comment lines."""
    text = resources.files(__package__).joinpath("queries.sql").read_text()
    parts = _HEAD.split(text)[1:]
    return {name: _body(body) for name, body in zip(parts[::2], parts[1::2], strict=True)}


def _body(text: str) -> str:
    lines = [line for line in text.splitlines() if line and not line.startswith("--")]
    return "\n".join(lines).rstrip(";")


SQL = load_queries()
"""Query text by name."""
