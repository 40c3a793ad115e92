"""A gate in front of a broker, which holds back the questions of instances for the ends of partitions, and on request
breaks connections at their questions for a topic, or keeps one of them from ever joining its group."""

import socket
import struct
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from threading import Lock, Thread
from types import TracebackType
from typing import NamedTuple, Self

from tests.broker import KafkaBroker
from tests.ports import HOST

_LIST_OFFSETS, _METADATA, _JOIN_GROUP = 2, 3, 11
"""The numbers of questions, in the first two bytes of their frames."""
_INSTANCE = b"rota+"
"""How the client of an instance that is a member of the group calls itself; those that restore have another name."""


class _Held(NamedTuple):
    server: socket.socket
    frame: bytes


class Gate:
    """Serves while it is entered. All but the questions goes through."""

    def __init__(self, broker: KafkaBroker) -> None:
        self._broker = broker
        self._lock = Lock()
        self._held: list[_Held] = []
        self._is_open = False
        self._topic = b""
        self._cuts = 0
        self._keeps_out_next = False
        self._kept_out: bytes | None = None
        self._sockets: list[socket.socket] = []
        self._listening = socket.create_server((HOST, broker.gate_port))
        self.bootstrap = f"{HOST}:{broker.gate_port}"

    def __enter__(self) -> Self:
        _start(self._accept)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for one in (self._listening, *self._sockets):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def let_through(self) -> None:
        """What is held; what comes later is held again."""
        with self._lock:
            for server, frame in self._held:
                server.sendall(frame)
            self._held.clear()

    def open(self) -> None:
        self._is_open = True
        self.let_through()

    def cut(self, topic: str, times: int) -> None:
        """Let so many questions for a topic end with their connection, unanswered."""
        self._topic, self._cuts = topic.encode(), times

    @property
    def cuts_left(self) -> int:
        return self._cuts

    def keep_out_next(self) -> None:
        """Let the next client that asks to join never hear of it, however often it asks; its connections stay."""
        self._keeps_out_next = True

    @property
    def has_kept_out(self) -> bool:
        return self._kept_out is not None

    def _accept(self) -> None:
        while True:
            client, _ = self._listening.accept()
            server = socket.create_connection((HOST, self._broker.gated_port))
            self._sockets += [client, server]
            _start(partial(self._pass_questions, client, server))
            _start(partial(self._pass_answers, server, client))

    def _pass_questions(self, client: socket.socket, server: socket.socket) -> None:
        for frame in _frames(client):
            with self._lock:
                if self._cuts and _is_question(frame, _METADATA) and self._topic in frame:
                    self._cuts -= 1
                    client.shutdown(socket.SHUT_RDWR)
                    server.shutdown(socket.SHUT_RDWR)
                elif self._is_kept_out(frame):
                    pass
                elif _is_question(frame, _LIST_OFFSETS) and not self._is_open:
                    self._held.append(_Held(server, frame))
                else:
                    server.sendall(frame)

    def _is_kept_out(self, frame: bytes) -> bool:
        if not _is_question(frame, _JOIN_GROUP):
            return False
        if self._keeps_out_next:
            self._keeps_out_next, self._kept_out = False, _client_of(frame)
        return _client_of(frame) == self._kept_out

    def _pass_answers(self, server: socket.socket, client: socket.socket) -> None:
        for frame in _frames(server):
            client.sendall(frame)


def _is_question(frame: bytes, kind: int) -> bool:
    """Whether an instance asks that."""
    (found,) = struct.unpack_from(">h", frame, 4)
    return found == kind and _client_of(frame).startswith(_INSTANCE)


def _client_of(frame: bytes) -> bytes:
    """How the client calls itself."""
    (length,) = struct.unpack_from(">h", frame, 12)
    return frame[14 : 14 + length]


def _frames(source: socket.socket) -> Iterator[bytes]:
    """Each with the four bytes of its length."""
    with source.makefile("rb") as file:
        while head := file.read(4):
            yield head + file.read(*struct.unpack(">i", head))


def _start(target: Callable[[], None]) -> None:
    """In a thread that ends, whatever is in hand, when the sockets are closed."""

    def run() -> None:
        with suppress(OSError, ValueError):
            target()

    Thread(target=run, name="gate", daemon=True).start()
