"""Reads `queries/*.sql`, one file per noun: each query follows a `-- name:` line and is known by that name. No two have
the same."""

import re
from collections.abc import Iterable, Iterator, Sequence
from importlib import resources

from rota.store.records.codec import encode

_HEAD = re.compile(r"^-- name: (\w+)$", re.MULTILINE)


def read_queries(texts: Iterable[str]) -> dict[str, str]:
    """Query text by name, without its comment lines, from the texts of some files."""
    found: dict[str, str] = {}
    for text in texts:
        parts = _HEAD.split(text)[1:]
        for name, body in zip(parts[::2], parts[1::2], strict=True):
            if name in found:
                raise ValueError(f"there are two queries with the name {name}")
            found[name] = _body(body)
    return found


def _body(text: str) -> str:
    lines = [line for line in text.splitlines() if line and not line.startswith("--")]
    return "\n".join(lines).rstrip(";")


def _files() -> Iterator[str]:
    folder = resources.files("rota.store.sqlite").joinpath("queries")
    return (file.read_text() for file in folder.iterdir() if file.name.endswith(".sql"))


SQL = read_queries(_files())
"""Query text by name."""


def json_array(values: Sequence[object]) -> str:
    """Many values as one argument of a query."""
    return encode(values).decode()
