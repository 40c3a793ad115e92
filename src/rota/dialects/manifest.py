"""What a dialect offers to a process, by name: nothing of it is imported before it is needed."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, NamedTuple


class Manifest(NamedTuple):
    """The offers of one dialect. A place is `module:attribute`."""

    name: str
    opener: str
    """From settings and a store to a `Dialect`, or None where it is not spoken."""
    keys: tuple[str, ...] = ()
    """Keys of the configuration file that it reads."""
    reader: str = ""
    """From a document to a `SectionContent`."""
    operations: str = ""
    """From settings and a store to the operations that the server gets."""
    pages: str = ""
    """The `Pages` that the dashboard gets; they ask those operations."""
    side_queues: str = ""
    """From settings to the queues that every worker serves beside its own, each with how many jobs at a time."""
    title: str = ""
    """Of the section in `rota --help`."""
    verbs: Mapping[str, tuple[str, str]] = {}
    """Name of a verb to its place and a few words about it."""


def load(place: str) -> Callable[..., Any]:
    """What is at a place."""
    module, _, attribute = place.partition(":")
    found: Callable[..., Any] = getattr(import_module(module), attribute)
    return found
