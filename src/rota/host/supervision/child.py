"""One process of a worker, as its supervisor sees it."""

import signal
import socket
import subprocess
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress

from rota.engine.executors.shortage import raise_if_short

ENDED = b""
"""What a supervisor hears last of a process."""


class Child:
    """A process that was started. `on_word` is called in a thread for each word it says, at last `ENDED`.

    `OSError` or `NodeStrained` if it could not be, or there is no room for the threads that listen to it.
    """

    def __init__(self, command: Sequence[str], on_word: Callable[["Child", bytes], None]) -> None:
        self._socket, theirs = socket.socketpair()
        self._on_word = on_word
        self.is_ready = False
        self.was_asked = False
        """Whether it was asked to end; one that leaves by itself was not."""
        try:
            self._process = self._start(command, theirs)
        except OSError:
            self._socket.close()
            raise
        self._listener = threading.Thread(target=self._listen, name="rota-child", daemon=True)
        try:
            self._listener.start()
            threading.Thread(target=self._wait, name="rota-child-end", daemon=True).start()
        except (RuntimeError, MemoryError) as error:
            self._undo()
            raise_if_short(error)
            raise

    def _start(self, command: Sequence[str], theirs: socket.socket) -> subprocess.Popen[bytes]:
        with theirs:
            # In a session of its own: what a terminal sends to all its programs is passed on by the supervisor, once.
            return subprocess.Popen(
                [*command, "--supervised", str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )

    def _undo(self) -> None:
        """Nobody would hear of it: it is ended before it does anything."""
        self._process.kill()
        self._process.wait()
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        if self._listener.is_alive():
            self._listener.join()
        self._socket.close()

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
        self.was_asked = True
        self._process.send_signal(signal.SIGTERM)

    def _listen(self) -> None:
        with suppress(OSError):
            while word := self._socket.recv(1):
                self._on_word(self, word)

    def _wait(self) -> None:
        """The end of the process, and not of its line, is its end: a child of its own may hold the line and live on."""
        self._process.wait()
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)  # the listener hears what was said before, and then the end
        self._listener.join()
        self._socket.close()
        self._on_word(self, ENDED)
