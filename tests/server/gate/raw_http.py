"""Requests as somebody without manners would send them."""

import http.client
from typing import NamedTuple
from urllib.parse import urlsplit

from tests.patience import DEADLINE_S


class Server(NamedTuple):
    """A server that runs as a process of its own."""

    address: str
    key: str

    @property
    def port(self) -> int:
        return urlsplit(self.address).port or 80

    @property
    def bearer(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.key}"}


def asked(server: Server, method: str, path: str, headers: dict[str, str], body: str = "") -> tuple[int, str]:
    """Status and text of the answer to a request with these very headers."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=DEADLINE_S)
    try:
        connection.putrequest(method, path, skip_host="Host" in headers, skip_accept_encoding=True)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            connection.putheader(name, value)
        connection.endheaders(body.encode() or None)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()
