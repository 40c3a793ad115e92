"""The line between a supervisor and one of its processes: a socket that each has an end of.

A process says a word when it is ready and when it leaves. The supervisor says nothing; its end closes when it is gone,
however it went, and then its processes end too.
"""

import os
import socket
import threading
from collections.abc import Callable
from contextlib import suppress

READY = b"r"
"""It runs jobs from now on."""
LEAVING = b"l"
"""It has reached a limit, claims nothing more, and ends when its running jobs have."""


class Line:
    """A process's end of the line."""

    def __init__(self, descriptor: int) -> None:
        os.set_inheritable(descriptor, False)
        self._socket = socket.socket(fileno=descriptor)

    def say(self, word: bytes) -> None:
        with suppress(OSError):  # the supervisor is gone, which `watch` tells
            self._socket.send(word)

    def watch(self, on_gone: Callable[[], None]) -> None:
        """Call this in a thread when the supervisor is gone."""
        threading.Thread(target=self._listen, args=[on_gone], name="rota-supervisor", daemon=True).start()

    def _listen(self, on_gone: Callable[[], None]) -> None:
        with suppress(OSError):
            while self._socket.recv(1):
                pass
        on_gone()
