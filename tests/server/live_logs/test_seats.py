"""How many live logs there may be, of one key and of a server."""

import asyncio

import pytest

from rota.server.answers import Refusal
from rota.server.api import ServerOptions
from rota.server.app import make_app
from rota.server.listen import listen, serve
from rota.server.live_logs.seats import Seats
from rota.store import Store
from tests.engine.working import until
from tests.patience import DEADLINE_S
from tests.server.routes.test_logs import RunningJob
from tests.server.serving import KEY, make_api, served


def test_a_key_has_some_seats_and_a_server_has_more() -> None:
    seats = Seats(most=3, most_per_key=2)
    for who in ("ann", "ann", "bob"):
        seats.take(who)

    with pytest.raises(Refusal, match="the key 'ann' follows 2 live logs and pages already") as of_key:
        seats.take("ann")
    with pytest.raises(Refusal, match="too many live logs and pages are followed on this server") as of_server:
        seats.take("bob")
    assert (of_key.value.status, of_server.value.status) == (429, 503)

    seats.give_back("ann")
    seats.take("bob")
    assert seats.taken == 3


@pytest.mark.parametrize(("server", "key", "status"), [(1, 5, 503), (5, 1, 429)])
def test_one_live_log_too_many_is_refused(kept: Store, server: int, key: int, status: int) -> None:
    options = ServerOptions(max_followers=server, max_followers_per_key=key, wrong_keys_per_s=0)
    api = make_api(kept, options=options)
    job = RunningJob(api)
    job.end()

    with served(api) as client:
        api.seats.take("admin")
        refused = client.get(f"/api/jobs/{job.id}/logs/stream")
        assert (refused.status_code, refused.headers["retry-after"]) == (status, "5")
        api.seats.give_back("admin")

        assert [client.get(f"/api/jobs/{job.id}/logs/stream").status_code for _ in range(3)] == [200] * 3
        assert api.seats.taken == 0


def test_who_hangs_up_gives_the_seat_back(kept: Store) -> None:
    api = make_api(kept)
    job = RunningJob(api)
    head = f"GET /api/jobs/{job.id}/logs/stream HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {KEY}\r\n\r\n"

    async def live() -> None:
        stopping, listener = asyncio.Event(), listen("127.0.0.1", 0)
        serving = asyncio.create_task(serve(make_app(api), listener, stopping, before_end=api.end_streams))
        try:
            reader, writer = await asyncio.open_connection(*listener.getsockname())
            writer.write(head.encode())
            await asyncio.wait_for(reader.readuntil(b": open"), 60)
            assert api.seats.taken == 1

            writer.close()
            await until(lambda: api.seats.taken == 0, "the seat to be free")
        finally:
            stopping.set()
            await serving

    try:
        asyncio.run(live())
    finally:
        api.close()


def test_who_asks_for_the_head_of_a_stream_only_has_no_seat_and_the_connection_goes_on(kept: Store) -> None:
    api = make_api(kept)
    job = RunningJob(api)
    rest = f"HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {KEY}\r\n\r\n"

    async def live() -> None:
        stopping, listener = asyncio.Event(), listen("127.0.0.1", 0)
        serving = asyncio.create_task(serve(make_app(api), listener, stopping, before_end=api.end_streams))
        try:
            reader, writer = await asyncio.open_connection(*listener.getsockname())
            writer.write(f"HEAD /api/jobs/{job.id}/logs/stream {rest}GET /api/cron?cron=@daily {rest}".encode())
            head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), DEADLINE_S)
            assert b"text/event-stream" in head
            assert b" 200 OK" in await asyncio.wait_for(reader.readline(), DEADLINE_S)
            assert api.seats.taken == 0
            writer.close()
        finally:
            stopping.set()
            await serving

    try:
        asyncio.run(live())
    finally:
        api.close()
