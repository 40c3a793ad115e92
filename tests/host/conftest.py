"""A host starts in an empty folder and with none of the tester's own settings, like the command."""

from tests.cli.conftest import folder, opened

__all__ = ["folder", "opened"]
