"""An empty folder, an empty Redis, and a program in it."""

from tests.cli.conftest import folder

__all__ = ["folder"]
