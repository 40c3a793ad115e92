"""A relay that is killed after it has handed jobs in, before the deletion of their rows is committed.

Usage: python -m tests.sdk.outbox.killed_relay STORE DATABASE
"""

import os
import signal
import sys
from typing import Any

from rota import Rota, relay_outbox
from tests.sdk.outbox.conftest import connect_to
from tests.sdk.tasks import functions


class Killed:
    """A connection at whose commit the process is killed."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def cursor(self) -> Any:
        return self._connection.cursor()

    def commit(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def rollback(self) -> None:
        self._connection.rollback()


def killed(connection: Any) -> Any:
    """Of the same kind as the connection, by which its driver is known."""
    kind = type(connection)
    return type("Killed", (Killed,), {"__module__": kind.__module__})(connection)


if __name__ == "__main__":
    store, database = sys.argv[1:]
    app = Rota(store, name="shop")
    app.task(functions.add)
    relay_outbox(killed(connect_to(database)), app)
