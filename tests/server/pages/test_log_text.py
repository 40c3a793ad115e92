"""The log of a job as a file: what it takes while its client does not read, and when it is cut."""

import asyncio
from collections.abc import Callable

from starlette.testclient import TestClient
from starlette.types import ASGIApp, Message

from rota.clock import ManualClock
from rota.engine.access.keys.access import Role
from rota.engine.access.keys.named_keys import revoke_key
from rota.model.runs.log import LogEntry
from rota.server.api import Api
from rota.server.connection.unread import SLICE
from rota.store import Store
from rota.store.contract.logs import LogBatch
from rota.testing.faults import Faults
from tests.server.pages.visiting import furnish, key_of
from tests.server.serving import KEY, make_api, served

LONG = "x" * 16_000
LINES = 400


def with_long_log(admin: TestClient, api: Api) -> str:
    """The path of the file of a log of 6.4 MB."""
    path = furnish(admin, api).paths["/jobs/{uuid}"]
    queue = api.engine.definitions.node_type("default").uuid
    (held,) = api.engine.store.claims_of_node(queue, queue, limit=9)
    lines = [LogEntry(time=1, message=f"{number} {LONG}") for number in range(LINES)]
    api.engine.store.append_logs([LogBatch(queue, path.rpartition("/")[2], held.token, lines)])
    return f"{path}/log.txt"


def fetched(app: ASGIApp, path: str, key: str, at_piece: Callable[[int], None]) -> list[bytes]:
    """The pieces in which a file is given to its connection; what is to happen at each is said."""
    pieces: list[bytes] = []
    headers = [(b"host", b"127.0.0.1"), (b"authorization", f"Bearer {key}".encode())]
    scope = {"type": "http", "method": "GET", "path": path, "raw_path": path.encode(), "query_string": b""}

    async def receive() -> Message:
        await asyncio.Event().wait()
        raise AssertionError("the client stays")

    async def send(message: Message) -> None:
        if message.get("body"):
            pieces.append(bytes(message["body"]))
            at_piece(len(pieces))

    asyncio.run(app({**scope, "headers": headers, "http_version": "1.1"}, receive, send))  # type: ignore[arg-type]
    return pieces


def test_a_file_waits_in_small_pieces_for_who_does_not_read_and_has_a_seat(admin: TestClient, api: Api) -> None:
    path = with_long_log(admin, api)
    taken, waiting = set[int](), set[int]()

    def look(_: int) -> None:
        taken.add(api.seats.taken)
        waiting.update(one.size for one in api.unread._waiting)

    pieces = fetched(admin.app, path, KEY, look)

    assert (taken, api.seats.taken) == ({1}, 0)
    assert max(map(len, pieces)) <= SLICE
    assert waiting, "what is longer is counted with all that waits"
    assert max(waiting) < 65 * len(LONG), "of the first lines nobody knows how long they are"
    said = b"".join(pieces).decode().splitlines()[2:]
    assert [line.split()[-2] for line in said] == [str(number) for number in range(LINES)]


def test_a_file_is_cut_and_says_so_when_its_key_ends(kept: Store) -> None:
    clock = ManualClock()
    api = make_api(kept, clock=clock)
    key = key_of(kept, Role.VIEWER, name="eve")

    def end(piece: int) -> None:
        if piece == 1:
            revoke_key(kept, "eve")
            clock.advance(5_000)

    with served(api) as admin:
        path = with_long_log(admin, api)
        said = b"".join(fetched(admin.app, path, key, end)).decode().splitlines()

    assert len(said) < LINES
    assert said[-1] == "-- the log goes on, but not in this file: the key is no longer good --"


def test_a_file_is_cut_and_says_so_when_the_store_does_not_answer(kept: Store) -> None:
    faults = Faults(kept)
    api = make_api(faults.store)
    with served(api) as admin:
        path = with_long_log(admin, api)
        said = b"".join(fetched(admin.app, path, KEY, lambda _: faults.cut_off())).decode().splitlines()
        faults.reconnect()

    assert len(said) < LINES
    assert said[-1].startswith("-- the log goes on, but not in this file: ")
