"""One process of a worker, as its supervisor sees it."""

import signal
import socket
import subprocess
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress

ENDED = b""
"""What a supervisor hears last of a process."""


class Child:
    """A process that was started. `on_word` is called in a thread for each word it says, at last `ENDED`."""

    def __init__(self, command: Sequence[str], on_word: Callable[["Child", bytes], None]) -> None:
        ours, theirs = socket.socketpair()
        self._socket = ours
        with theirs:
            # In a session of its own: what a terminal sends to all its programs is passed on by the supervisor, once.
            self._process = subprocess.Popen(
                [*command, "--supervised", str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
        self.is_ready = False
        threading.Thread(target=self._listen, args=[on_word], name="rota-child", daemon=True).start()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def exit_code(self) -> int:
        """Of one that has ended; that of a shell if a signal ended it."""
        code = self._process.returncode
        return code if code >= 0 else 128 - code

    def ask_to_end(self) -> None:
        """The first time: let running jobs end. The second time: interrupt them."""
        self._process.send_signal(signal.SIGTERM)

    def _listen(self, on_word: Callable[["Child", bytes], None]) -> None:
        with self._socket:
            with suppress(OSError):
                while word := self._socket.recv(1):
                    on_word(self, word)
            self._process.wait()
        on_word(self, ENDED)
