"""The bounds of a connection, to the byte and to the second. The pieces in which something comes are given to the
protocol one by one, and the loop's clock is moved by hand: no network decides what arrives together."""

import asyncio
import resource
from collections.abc import Callable, Coroutine

import pytest
from starlette.types import Receive, Scope, Send
from uvicorn.server import ServerState

from rota.server.connection import limits
from rota.server.connection.config import BoundedConfig
from rota.server.connection.protocol import BoundedProtocol
from tests.engine.working import until

KIB = 1024
GET = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
SLOW = b"GET /slow HTTP/1.1\r\nHost: x\r\n\r\n"
HALF = b"GET /half HTTP/1.1\r\nHost: x\r\n\r\n"
IGNORED = b"POST /early HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n"
CHUNKED = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
MOST = 100


class Loop(asyncio.SelectorEventLoop):
    """A loop whose clock can be moved."""

    ahead_s = 0.0

    def time(self) -> float:
        return super().time() + self.ahead_s


class Wire(asyncio.Transport):
    """Keeps what is written to it, and what it is told."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self.unread = 0
        """Bytes that the client has not taken."""
        self.is_closed = False
        self.is_aborted = False
        self.is_paused = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written += bytes(data)

    def get_write_buffer_size(self) -> int:
        return self.unread

    def close(self) -> None:
        self.is_closed = True

    def abort(self) -> None:
        self.is_closed = self.is_aborted = True

    def is_closing(self) -> bool:
        return self.is_closed

    def pause_reading(self) -> None:
        self.is_paused = True

    def resume_reading(self) -> None:
        self.is_paused = False


class House:
    """An app that says how long a body was: of `/slow` when it is told to, of `/half` only its beginning until then, of
    `/early` before it has read any. And its connections."""

    def __init__(self) -> None:
        self.may_end = asyncio.Event()
        self.state = ServerState()
        self._config = BoundedConfig(self, max_connections=MOST)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        head = {"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"8")]}
        if scope["path"] == "/half":
            await send(head)
        if scope["path"] in ("/slow", "/half"):
            await self.may_end.wait()
        size, more = 0, scope["path"] != "/early"
        while more:
            message = await receive()
            size += len(message.get("body", b""))
            more = message.get("more_body", False)
        if scope["path"] != "/half":
            await send(head)
        await send({"type": "http.response.body", "body": b"%08d" % size})

    def connect(self) -> "Connection":
        made = BoundedProtocol(self._config, self.state, {})
        wire = Wire()
        made.connection_made(wire)
        return Connection(made, wire)


class Connection:
    """One of them, from the client's side."""

    def __init__(self, protocol: BoundedProtocol, wire: Wire) -> None:
        self._protocol = protocol
        self.wire = wire
        self.send = protocol.data_received

    def look(self, after_s: float = 0.0) -> None:
        """Have its time looked at, so much later."""
        loop = asyncio.get_running_loop()
        assert isinstance(loop, Loop)
        loop.ahead_s += after_s
        self._protocol.check_time(loop.time())

    @property
    def statuses(self) -> list[int]:
        """Of all that was answered, or begun to be."""
        return [int(one.split()[0]) for one in self.wire.written.split(b"HTTP/1.1 ")[1:]]

    async def answers(self, count: int) -> list[int]:
        await until(lambda: len(self.statuses) >= count, f"{count} answers")
        return self.statuses


def played(scene: Callable[[House], Coroutine[None, None, None]]) -> None:
    async def play() -> None:
        house = House()
        try:
            await scene(house)
        finally:
            house.may_end.set()

    with asyncio.Runner(loop_factory=Loop) as runner:
        runner.run(play())


def in_crumbs(size: int, count: int) -> list[bytes]:
    """A body in so many pieces of this size, and its end."""
    return [b"%x\r\n%s\r\n" % (size, b"x" * size)] * count + [b"0\r\n\r\n"]


def head_of(size: int) -> bytes:
    """A request whose headers have so many bytes together."""
    return b"GET / HTTP/1.1\r\nHost: x\r\nX: %s\r\n\r\n" % (b"a" * (size - len(b"HostxX")))


def test_a_connection_has_these_bounds() -> None:
    """`docs/security.md` names most of them."""
    assert (limits.MAX_URL, limits.MAX_HEAD, limits.MAX_HEADERS) == (16 * KIB, 64 * KIB, 128)
    assert (limits.HEAD_S, limits.BODY_S, limits.SLOWEST_BODY_PER_S) == (10, 20, 16 * KIB)
    assert (limits.MAX_WAITING, limits.UNREAD_S, limits.MAX_CONNECTIONS) == (16, 60, 1_000)
    assert (limits.MAX_CRUMBS, limits.LEAST_PIECE) == (1_024, 64)
    assert (limits.MAX_TURN, limits.MAX_UNWANTED, limits.ENDED_OF_ALL) == (64 * KIB, 64 * KIB * KIB, 50)


@pytest.mark.parametrize(
    ("descriptors", "most"),
    [(1_024, 512), (4_000, 1_000), (2_000, 1_000), (1_998, 999), (1, 1), (resource.RLIM_INFINITY, 1_000)],
)
def test_connections_take_at_most_half_the_descriptors(
    descriptors: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (descriptors, descriptors))

    assert limits.most_connections(1_000) == most


@pytest.mark.parametrize(("connections", "handshakes"), [(1_000, 250), (40, 10), (4, 1), (1, 1)])
def test_a_quarter_as_many_shake_hands_at_a_time(connections: int, handshakes: int) -> None:
    assert limits.most_handshakes(connections) == handshakes


@pytest.mark.parametrize(
    ("within", "beyond", "status"),
    [
        (b"GET /%s HTTP/1.1\r\nHost: x\r\n\r\n" % (b"a" * (16 * KIB - 1)), b"GET /%s" % (b"a" * 16 * KIB), 414),
        (head_of(64 * KIB), head_of(64 * KIB + 1), 431),
        (GET[:-2] + b"X: 1\r\n" * 127 + b"\r\n", GET[:-2] + b"X: 1\r\n" * 128 + b"\r\n", 431),
    ],
    ids=["url", "head", "headers"],
)
def test_a_head_may_have_what_its_bounds_say_and_one_more_is_refused(within: bytes, beyond: bytes, status: int) -> None:
    async def scene(house: House) -> None:
        connection = house.connect()

        connection.send(within)
        assert await connection.answers(1) == [200]
        connection.send(within)
        assert await connection.answers(2) == [200, 200], "each head is counted by itself"
        assert not connection.wire.is_closed

        connection.send(beyond)
        assert connection.statuses == [200, 200, status]
        assert connection.wire.is_closed

    played(scene)


def test_a_large_piece_with_the_end_of_one_head_and_the_beginning_of_another_is_no_long_head() -> None:
    async def scene(house: House) -> None:
        connection, body = house.connect(), b"x" * 2 * limits.MAX_HEAD
        connection.send(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n" % len(body))

        connection.send(b"\r\n" + body + GET[:-2])
        assert not connection.wire.is_closed
        assert await connection.answers(1) == [200]
        connection.send(GET[-2:])

        assert await connection.answers(2) == [200, 200]
        assert b"%08d" % len(body) in connection.wire.written

    played(scene)


@pytest.mark.parametrize("headers", [1, 50])
def test_a_head_may_come_in_small_pieces(headers: int) -> None:
    one = b"a" * (60 * KIB // headers)
    head = GET[:-2] + b"".join(b"X%d: %s\r\n" % (number, one) for number in range(headers)) + b"\r\n"

    async def scene(house: House) -> None:
        connection = house.connect()
        for _ in range(2):
            for start in range(0, len(head), 1_460):
                connection.send(head[start : start + 1_460])

        assert await connection.answers(2) == [200, 200]

    played(scene)


@pytest.mark.parametrize("begin", [b"GET / HTTP/1.1\r\nX: ", b""], ids=["header", "empty-lines"])
def test_a_head_that_never_ends_is_refused_when_it_is_too_long(begin: bytes) -> None:
    piece = b"a" * KIB if begin else b"\r\n" * (KIB // 2)

    async def scene(house: House) -> None:
        connection = house.connect()
        if begin:
            connection.send(begin)
        for _ in range(64):
            connection.send(piece)
        assert not connection.wire.is_closed

        connection.send(piece[:1])
        assert connection.statuses == [431]
        assert b"more than 128 headers or 65536 bytes of them" in connection.wire.written
        assert connection.wire.is_closed

    played(scene)


def test_what_is_no_request_is_told_so_once() -> None:
    async def scene(house: House) -> None:
        connection = house.connect()

        connection.send(b"this is no HTTP\r\n\r\n")
        connection.send(GET)

        assert connection.statuses == [400]
        assert b"this is no valid HTTP request" in connection.wire.written
        assert connection.wire.is_closed

    played(scene)


@pytest.mark.parametrize("under_way", [SLOW, HALF], ids=["not-begun", "begun"])
def test_nothing_is_said_between_the_parts_of_an_answer(under_way: bytes) -> None:
    async def scene(house: House) -> None:
        connection = house.connect()
        connection.send(under_way)
        before = await connection.answers(1) if under_way is HALF else []

        connection.send(head_of(64 * KIB + 1))

        assert connection.statuses == before
        assert connection.wire.is_closed

    played(scene)


def test_as_many_requests_wait_as_may_and_then_the_connection_ends() -> None:
    async def scene(house: House) -> None:
        connection = house.connect()
        connection.send(SLOW * (1 + limits.MAX_WAITING))
        connection.send(GET)
        connection.send(GET)
        assert not connection.wire.is_closed, "those that wait are answered first"

        house.may_end.set()

        await until(lambda: connection.wire.written.count(b"00000000") > limits.MAX_WAITING, "the last answer")
        assert connection.statuses == [200] * (1 + limits.MAX_WAITING)
        assert connection.wire.written.count(b"connection: close") == 1, "the last answer says so"
        assert connection.wire.is_closed

    played(scene)


@pytest.mark.parametrize(
    ("size", "count", "status"), [(1, 1_024, 200), (1, 1_025, 400), (63, 1_025, 400), (64, 1_025, 200)]
)
def test_a_body_may_come_in_some_crumbs_or_in_pieces_that_are_none(size: int, count: int, status: int) -> None:
    async def scene(house: House) -> None:
        connection = house.connect()
        for number in (1, 2):
            connection.send(CHUNKED)
            for piece in in_crumbs(size, count):
                connection.send(piece)
            if status == 400:
                assert connection.statuses == [400]
                assert b"the body comes in pieces of less than 64 bytes" in connection.wire.written
                break
            assert await connection.answers(number) == [200] * number, "each body is counted by itself"

        assert connection.wire.is_closed is (status == 400)

    played(scene)


def test_of_a_body_that_nobody_wants_so_much_is_thrown_away_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_UNWANTED", 1_000)

    async def scene(house: House) -> None:
        connection = house.connect()
        connection.send(IGNORED)
        assert await connection.answers(1) == [200]

        connection.send(b"x" * 1_000)
        assert not connection.wire.is_closed
        connection.send(b"x")
        assert connection.wire.is_aborted
        assert not house.state.connections
        under_way = set(house.state.tasks)
        connection.send(b"x" * (1_000_000 - 1_001) + GET)
        assert house.state.tasks == under_way, "nothing more is read of it"

    played(scene)


def test_a_large_piece_gives_others_a_turn_before_more_is_read() -> None:
    async def scene(house: House) -> None:
        connection = house.connect()
        connection.send(IGNORED)
        assert await connection.answers(1) == [200]

        paused = []
        for size in (limits.MAX_TURN, limits.MAX_TURN + 1):
            connection.send(b"x" * size)
            paused.append(connection.wire.is_paused)

        assert paused == [False, True]
        await until(lambda: not connection.wire.is_paused, "it to be read on")

    played(scene)


def test_what_is_not_read_because_requests_wait_stays_so_after_a_turn() -> None:
    async def scene(house: House) -> None:
        connection = house.connect()
        connection.send(
            SLOW * 2 + b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n" + b"x" * limits.MAX_TURN
        )
        passed = asyncio.Event()
        asyncio.get_running_loop().call_soon(passed.set)
        await passed.wait()

        assert connection.wire.is_paused

    played(scene)


@pytest.mark.parametrize("sent", [b"", GET[:-2]], ids=["nothing", "half"])
def test_a_head_has_ten_seconds(sent: bytes) -> None:
    async def scene(house: House) -> None:
        connection = house.connect()
        if sent:
            connection.look(5)
            connection.send(sent)  # its time begins with it

        connection.look(5)
        assert not connection.wire.is_closed
        connection.look(5.1)
        assert connection.statuses == [408]
        assert b"did not come within 10 seconds" in connection.wire.written
        assert connection.wire.is_closed

    played(scene)


def test_a_head_that_is_begun_behind_a_slow_answer_has_until_that_has_come() -> None:
    async def scene(house: House) -> None:
        connection = house.connect()
        connection.send(SLOW + GET[:-2])

        connection.look(100)
        assert not connection.wire.is_closed
        house.may_end.set()
        assert await connection.answers(1) == [200]
        connection.look()

        assert connection.statuses == [200, 408]

    played(scene)


def test_a_body_has_twenty_seconds_and_one_more_for_every_16_kib() -> None:
    async def scene(house: House) -> None:
        connection = house.connect()
        connection.send(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n")
        connection.look(5)
        connection.send(b"\r\n" + b"x" * 64 * KIB)

        connection.look(19)
        assert not connection.wire.is_closed
        connection.look(5.1)
        assert connection.statuses == [408]
        assert b"the body of the request comes too slowly" in connection.wire.written
        assert connection.wire.is_closed

    played(scene)


def test_a_body_that_the_server_itself_does_not_read_is_not_too_slow() -> None:
    async def scene(house: House) -> None:
        connection = house.connect()
        connection.send(SLOW.replace(b"Host: x", b"Host: x\r\nContent-Length: 1000000"))
        connection.send(b"x" * 100 * KIB)
        assert connection.wire.is_paused

        connection.look(1_000)

        assert not connection.wire.is_closed

    played(scene)


def test_an_answer_of_which_nothing_is_read_for_a_minute_ends_the_connection() -> None:
    async def scene(house: House) -> None:
        connection = house.connect()
        connection.send(SLOW)
        connection.look(1_000)  # so long there was nothing to read
        connection.wire.unread = 100
        connection.look()

        connection.look(55)
        connection.wire.unread = 99
        connection.look()
        connection.look(55)
        assert not connection.wire.is_closed, "something was read after 55 seconds"
        connection.look(5.1)
        assert connection.wire.is_aborted

    played(scene)


def test_empty_lines_keep_no_connection_for_ever() -> None:
    async def scene(house: House) -> None:
        connection = house.connect()
        connection.send(GET)
        assert await connection.answers(1) == [200]
        connection.send(b"\r\n")

        connection.look(5)
        assert not connection.wire.is_closed
        connection.look(5.1)
        assert connection.wire.is_aborted

    played(scene)


def test_a_connection_whose_request_is_being_answered_is_kept() -> None:
    async def scene(house: House) -> None:
        connection = house.connect()
        connection.send(SLOW)

        connection.look(1_000)

        assert not connection.wire.is_closed

    played(scene)


def test_as_many_connections_as_may_be_are_kept_and_one_more_ends_the_oldest_idle_ones() -> None:
    async def scene(house: House) -> None:
        busy = house.connect()
        busy.send(SLOW)
        idle = [house.connect() for _ in range(MOST - 1)]
        for number, one in enumerate(idle):
            one._protocol.since = float(number)
        assert not any(one.wire.is_closed for one in idle)

        newest = house.connect()

        ended = [number for number, one in enumerate(idle) if one.wire.is_aborted]
        assert ended == list(range(1 + MOST // limits.ENDED_OF_ALL)), "some at once, the oldest first"
        assert not newest.wire.is_closed
        assert not busy.wire.is_closed
        assert len(house.state.connections) == MOST + 1 - len(ended)

    played(scene)


def test_a_connection_too_many_is_told_so_while_all_others_are_busy() -> None:
    async def scene(house: House) -> None:
        busy = [house.connect() for _ in range(MOST)]
        for one in busy:
            one.send(SLOW)

        newest = house.connect()
        newest.send(GET)

        assert newest.statuses == [503]
        assert newest.wire.is_closed
        house.may_end.set()
        for one in busy:
            assert await one.answers(1) == [200]

    played(scene)
