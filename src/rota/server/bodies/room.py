"""How much memory the bodies of all requests may take together: each alone is bounded, and many at once would still
take what the node's jobs need."""

from rota.server.answers import Refusal

MAX_TOGETHER = 256 * 1024 * 1024
FREE = 64 * 1024
"""What a body may take without being counted: so much waits for each connection anyway. Single jobs are accepted
whatever else is sent."""
_BYTES_PER_VALUE = 64
"""What one decoded value takes, at least."""
_RETRY_AFTER_S = 1


class BodyRoom:
    """The room of one server. Used on its event loop only."""

    def __init__(self, most: int = MAX_TOGETHER) -> None:
        self._most = most
        self.taken = 0


class Place:
    """What one request takes of it, until it is given back."""

    __slots__ = ("_room", "_size")

    def __init__(self, room: BodyRoom) -> None:
        self._room = room
        self._size = 0

    def need(self, size: int) -> None:
        """Have room for so many bytes in all; refuses if others have taken it."""
        more = size - self._size
        if size <= FREE or more <= 0:
            return
        if self._room.taken + more > self._room._most:
            raise Refusal(
                503,
                "the server holds too many large bodies of other requests; try again, or send less at a time",
                {"Retry-After": str(_RETRY_AFTER_S)},
            )
        self._room.taken += more
        self._size = size

    def need_values(self, count: int) -> None:
        """Have room for the values of the body, too."""
        self.need(self._size + count * _BYTES_PER_VALUE)

    def give_back(self) -> None:
        self._room.taken -= self._size
        self._size = 0
