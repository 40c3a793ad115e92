"""Bodies share a room: when it is full large ones are refused, and small ones are not."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from rota.server.answers import Refusal
from rota.server.api import Api
from rota.server.app import make_app
from rota.server.bodies import room
from rota.server.bodies.room import FREE, BodyRoom, Place
from rota.server.listen import listen, serve
from tests.engine.working import until
from tests.server.serving import KEY

HEAD = (
    f"POST /api/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {KEY}\r\nContent-Type: application/json\r\n"
)
TEXT = 2 * FREE
"""Large enough to be counted."""


def body_of(size: int) -> bytes:
    return b'{"job_type_uuid": "rota.log", "arguments": {"a": "%s"}}' % (b"x" * size)


class Client:
    """A connection that sends a job's body when it likes."""

    def __init__(self, port: int) -> None:
        self._port = port

    async def begin(self, size: int, *, chunked: bool = False) -> bytes:
        """Send the head and all of the body but its last letter, which is returned."""
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
        body = body_of(size)
        length = "Transfer-Encoding: chunked" if chunked else f"Content-Length: {len(body)}"
        self._writer.write(f"{HEAD}{length}\r\n\r\n".encode())
        self._writer.write(b"%x\r\n%s\r\n" % (len(body) - 1, body[:-1]) if chunked else body[:-1])
        return b"1\r\n%s\r\n0\r\n\r\n" % body[-1:] if chunked else body[-1:]

    async def end(self, rest: bytes) -> tuple[int, bytes]:
        """Send the rest; the status and all of the answer, which is one line of JSON."""
        self._writer.write(rest)
        answer = await self._reader.readuntil(b"}")
        self._writer.close()
        return int(answer.split()[1]), answer


def played(api: Api, scene: Callable[[int], Awaitable[None]]) -> None:
    async def play() -> None:
        stopping, listener = asyncio.Event(), listen("127.0.0.1", 0)
        serving = asyncio.create_task(serve(make_app(api), listener, stopping))
        try:
            await asyncio.wait_for(scene(listener.getsockname()[1]), 90)
        finally:
            stopping.set()
            await serving

    asyncio.run(play())
    api.close()


@pytest.mark.parametrize("chunked", [False, True])
def test_a_large_body_is_refused_while_others_take_the_room(api: Api, chunked: bool) -> None:
    api.body_room = BodyRoom(most=3 * FREE)

    async def scene(port: int) -> None:
        first, second, small = Client(port), Client(port), Client(port)
        last = await first.begin(TEXT, chunked=chunked)
        await until(lambda: api.body_room.taken > TEXT, "the body to come")

        status, answer = await second.end(await second.begin(TEXT))
        assert (status, b"retry-after: 1\r\n" in answer) == (503, True)
        assert b"too many large bodies of other requests" in answer
        assert (await small.end(await small.begin(FREE // 2)))[0] != 503

        assert (await first.end(last))[0] != 503
        assert api.body_room.taken == 0
        again = Client(port)
        assert (await again.end(await again.begin(TEXT)))[0] != 503
        assert api.body_room.taken == 0

    played(api, scene)


def test_a_client_that_goes_away_gives_its_room_back(api: Api) -> None:
    async def scene(port: int) -> None:
        client = Client(port)
        await client.begin(TEXT)
        await until(lambda: api.body_room.taken > TEXT, "the body to come")
        client._writer.transport.abort()
        await until(lambda: api.body_room.taken == 0, "the room to be given back")

    played(api, scene)


def test_what_is_counted_is_what_came_and_not_what_was_announced(api: Api) -> None:
    async def scene(port: int) -> None:
        announced = f"{HEAD}Content-Length: 1000000\r\n\r\n".encode()
        writers = [(await asyncio.open_connection("127.0.0.1", port))[1] for _ in range(20)]
        for writer in writers:
            writer.write(announced + b"{")
        client = Client(port)
        assert (await client.end(await client.begin(TEXT)))[0] != 503
        assert api.body_room.taken == 0
        for writer in writers:
            writer.close()

    played(api, scene)


def test_all_bodies_together_have_what_the_document_says() -> None:
    """`docs/security.md` names both."""
    assert (room.MAX_TOGETHER, FREE) == (256 * 1024 * 1024, 64 * 1024)
    assert BodyRoom()._most == room.MAX_TOGETHER


def test_a_body_counts_from_the_first_byte_beyond_what_is_free_and_once() -> None:
    shared = BodyRoom(most=3 * FREE)
    first, second = Place(shared), Place(shared)

    first.need(FREE)
    assert shared.taken == 0
    for size in (FREE + 1, FREE + 2, FREE + 1, 2 * FREE):  # as it grows
        first.need(size)
    assert shared.taken == 2 * FREE

    second.need(FREE)
    with pytest.raises(Refusal):
        second.need(FREE + 1)
    assert shared.taken == 2 * FREE
    second.give_back()
    assert shared.taken == 2 * FREE, "who was refused has taken nothing"

    first.need(3 * FREE)
    with pytest.raises(Refusal):
        first.need(3 * FREE + 1)
    for _ in range(2):
        first.give_back()
        assert shared.taken == 0


def test_values_take_room_beyond_their_letters() -> None:
    shared = BodyRoom(most=10 * FREE)
    place = Place(shared)
    place.need(2 * FREE)

    place.need_values(4 * FREE // room._BYTES_PER_VALUE)
    assert shared.taken == 6 * FREE
    with pytest.raises(Refusal):
        place.need_values(5 * FREE // room._BYTES_PER_VALUE)

    place.give_back()
    assert shared.taken == 0
