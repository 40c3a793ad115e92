"""Calls a server as its users do: with curl."""

import subprocess
from typing import Any, NamedTuple

import msgspec

JSON = "Content-Type: application/json"


class Answer(NamedTuple):
    status: int
    body: str

    @property
    def json(self) -> Any:
        return msgspec.json.decode(self.body)


class Curl:
    """curl with a key, against one server."""

    def __init__(self, address: str, key: str | None) -> None:
        self._address = address
        self._key = ["-H", f"Authorization: Bearer {key}"] if key else []

    def __call__(self, method: str, path: str, body: object = None, *, header: str = JSON) -> Answer:
        """One request. A body that is not text is sent as JSON."""
        words = ["curl", "-sS", "-X", method, "-w", "\n%{http_code}", *self._key, self._address + path]
        if method in ("POST", "PUT", "PATCH"):
            text = body if isinstance(body, str) else msgspec.json.encode(body).decode()
            words += ["-H", header, "--data-binary", text]
        ended = subprocess.run(words, capture_output=True, text=True, timeout=60, check=True)
        content, _, status = ended.stdout.rpartition("\n")
        return Answer(int(status), content)

    def get(self, path: str) -> Any:
        """The JSON of a request that must succeed."""
        answer = self("GET", path)
        assert answer.status == 200, answer
        return answer.json

    def post(self, path: str, body: object) -> Any:
        """The JSON of a request that must succeed."""
        answer = self("POST", path, body)
        assert answer.status == 200, answer
        return answer.json
