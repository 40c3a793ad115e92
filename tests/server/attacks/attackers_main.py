"""Somebody who attacks a server, as a process of its own: the same attack by several threads, again and again.

`python -m tests.server.attacks.attackers_main ATTACK PORT KEY JOB` goes on until it is killed, and says a line for
each round.
"""

import itertools
import json
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress

MIB = 1024 * 1024
GET = "GET {} HTTP/1.1\r\nHost: 127.0.0.1\r\n"
HEAD = GET.format("/health").encode()
THREADS = 4
HALVES = 200
READERS = 8


class Attacker:
    """Knows one server, a key of it, and a job whose log is long."""

    def __init__(self, port: int, key: str, job: str) -> None:
        self._port = port
        self._bearer = f"Authorization: Bearer {key}\r\n"
        self._job = job

    def zeros(self) -> None:
        """A body of millions of values."""
        self._post("/api/jobs/bulk", b"[" + b"0," * (31 * MIB) + b"0]")

    def stars(self) -> None:
        """A resource that a glob of many stars almost matches."""
        event = {"eventType": "FILE", "eventTimestamp": "2026-01-01T00:00:00", "eventResourceId": "a" * 1_000 + "b"}
        self._post("/events", json.dumps(event).encode())

    def heads(self) -> None:
        """A header, and a URL, that never end."""
        for begin in (HEAD + b"X: ", b"GET /"):
            self._send(itertools.chain([begin], itertools.repeat(b"a" * 65_536, 3_200)))

    def halves(self) -> None:
        """Requests that are never whole."""
        open_ones = []
        with suppress(OSError):
            for _ in range(HALVES):
                one = self._connected()
                open_ones.append(one)
                one.sendall(HEAD)
        time.sleep(0.2)  # they stay, for a while
        for one in open_ones:
            one.close()

    def pipelined(self) -> None:
        """Requests without a key that wait for no answer."""
        self._send(itertools.repeat((GET.format("/api") + "\r\n").encode() * 5_000, 20))

    def crumbs(self) -> None:
        """A body in pieces of one byte, without a key."""
        head = GET.format("/api/jobs").replace("GET", "POST")
        head += "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
        self._send(itertools.chain([head.encode()], itertools.repeat(b"1\r\n \r\n" * 10_000, 1_000)))

    def unread(self) -> None:
        """Long answers that nobody reads: a page, and a stream."""
        wanted = [self._get("/logs?limit=10000"), self._get("/logs/stream")]
        open_ones = []
        with suppress(OSError):
            for number in range(READERS):
                one = self._connected(receive_buffer=4096)
                open_ones.append(one)
                one.sendall(wanted[number % 2] * (1 + number))
        time.sleep(0.5)  # time to answer all of them
        for one in open_ones:
            one.close()

    def _get(self, rest: str) -> bytes:
        return (GET.format(f"/api/jobs/{self._job}{rest}") + self._bearer + "\r\n").encode()

    def _post(self, path: str, body: bytes) -> None:
        head = GET.format(path).replace("GET", "POST") + self._bearer
        head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        self._send([head.encode(), body])

    def _send(self, parts: Iterable[bytes]) -> None:
        """Send it all, and take what is said; the server may end the connection whenever it likes."""
        with self._connected() as connection, suppress(OSError):
            taking = threading.Thread(target=_take, args=[connection])
            taking.start()
            try:
                for part in parts:
                    connection.sendall(part)
                connection.shutdown(socket.SHUT_WR)
            finally:
                taking.join()

    def _connected(self, receive_buffer: int | None = None) -> socket.socket:
        connection = socket.socket()
        if receive_buffer is not None:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        connection.connect(("127.0.0.1", self._port))
        return connection


def _take(connection: socket.socket) -> None:
    with suppress(OSError):
        while connection.recv(65_536):
            continue


def again_and_again(attack: Callable[[], None]) -> None:
    while True:
        with suppress(OSError):
            attack()
        print("a round", flush=True)


def main() -> None:
    attack, port, key, job = sys.argv[1:]
    attacker = Attacker(int(port), key, job)
    threads = [threading.Thread(target=again_and_again, args=[getattr(attacker, attack)]) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()  # they start others, which Python 3.12 allows only as long as this one lives


if __name__ == "__main__":
    main()
