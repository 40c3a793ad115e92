"""A job's log as the server streams it: server-sent events, read line by line. No I/O here."""

from collections.abc import Iterator

import msgspec

from rota.errors import StoreError
from rota.sdk.call import Call, path_to, present
from rota.sdk.shapes import LogLine

_decode = msgspec.json.Decoder(LogLine).decode


class LogEvents:
    """Reads one stream, and knows where to go on when it broke off."""

    def __init__(self, uuid: str, *, level: str | None = None, after: int = 0) -> None:
        self._uuid = uuid
        self._level = level
        self._after = self._id = after
        self._name, self._data, self._begun = "", "", b""
        self.is_over = False

    def call(self) -> Call[str]:
        """The request for what was not read yet. What was read of an event that broke off counts for nothing."""
        self._name, self._data, self._begun, self._id = "", "", b"", self._after
        query = present({"level": self._level, "after": self._after or None})
        return Call(method="GET", path=path_to("jobs", self._uuid, "logs", "stream"), answer=str, query=query)

    def lines(self, piece: bytes) -> Iterator[LogLine]:
        """The lines of the log that are complete with this piece of the stream. Only a line feed ends one of its own:
        what jobs write may hold other characters that Python and drivers take for the end of one, such as U+2028."""
        *whole, self._begun = (self._begun + piece).split(b"\n")
        try:
            for line in whole:
                if found := self.read(line.decode()):
                    yield found
        except (msgspec.MsgspecError, ValueError) as error:
            raise StoreError(f"log of job {self._uuid}: this is not the answer of a Rota server: {error}") from None

    def read(self, line: str) -> LogLine | None:
        """One line of the stream; gives a line of the log when it is complete."""
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "event":
            self._name = value
        elif field == "data":
            self._data += value
        elif field == "id" and value.isdigit():
            self._id = int(value)
        elif not line:
            return self._complete()
        return None

    def _complete(self) -> LogLine | None:
        name, data = self._name, self._data
        self._name, self._data, self._after = "", "", self._id
        if name == "end":
            self.is_over = True
        return _decode(data) if data and not name else None
