"""The log of a job beside its page: it outlives what goes wrong, and one that has ended costs next to nothing."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from rota.server.live_logs import feeds, latest
from rota.server.pages.live import stream
from rota.server.pages.page import Visit
from rota.store import Store
from rota.testing.faults import Faults, away
from tests.contract.building import claim_one, fail, finish, log_batch
from tests.engine.working import until
from tests.server.pages.test_live import JOB, stream_of
from tests.server.pages.visiting import furnish, log_more
from tests.server.serving import KEY, make_api, served

HEADERS = {"Authorization": f"Bearer {KEY}"}
LONG_S = 3_600


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "KEY_CHECK_S", 0.01)


@pytest.fixture
def behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """A feed keeps two lines and looks once: whoever wants more than those reads the store, and nobody else does."""
    monkeypatch.setattr(latest, "MOST_LINES", 2)
    monkeypatch.setattr(feeds, "FIRST_PAUSE_S", LONG_S)
    monkeypatch.setattr(feeds, "LONGEST_PAUSE_S", LONG_S)


async def said(events: AsyncIterator[bytes], wanted: bytes) -> bytes:
    """What came, up to what is wanted."""
    shown = b""
    while wanted not in shown:
        shown += await asyncio.wait_for(anext(events), 60)
    return shown


@pytest.mark.usefixtures("behind")
def test_a_log_goes_on_when_the_store_is_back(kept: Store) -> None:
    faults = Faults(kept)
    api = make_api(faults.store)

    async def live(uuid: str) -> None:
        events = stream_of(api, JOB, Visit({"uuid": uuid}, {}), HEADERS)
        faults.before("read_logs", lambda: None, away)  # the feed looks; then the follower, who is behind, reads
        shown = await said(events, b'"next":6')
        assert [shown.count(b"%d sheep" % number) for number in range(4)] == [1] * 4
        assert not faults.awaits("read_logs")
        await events.aclose()  # type: ignore[attr-defined]

    with served(api) as client:
        uuid = furnish(client, api).paths["/jobs/{uuid}"].rpartition("/")[2]
        log_more(api, uuid, [f"{number} sheep" for number in range(4)])
        asyncio.run(live(uuid))


@pytest.mark.usefixtures("behind")
def test_a_stream_whose_log_fails_ends_so_that_the_browser_begins_another(kept: Store) -> None:
    faults = Faults(kept)
    api = make_api(faults.store)

    def broken() -> None:
        raise ValueError("ours")

    async def live(uuid: str) -> None:
        faults.before("read_logs", lambda: None, broken)
        events = stream_of(api, JOB, Visit({"uuid": uuid}, {}), HEADERS)
        async with asyncio.timeout(60):
            assert b"sheep" not in b"".join([event async for event in events])

    with served(api) as client:
        uuid = furnish(client, api).paths["/jobs/{uuid}"].rpartition("/")[2]
        log_more(api, uuid, [f"{number} sheep" for number in range(4)])
        asyncio.run(live(uuid))


def test_the_log_of_a_job_that_has_ended_is_not_read_again_until_it_says_more(kept: Store) -> None:
    faults = Faults(kept)
    api = make_api(faults.store)

    def fail_again(queue: str, *messages: str) -> None:
        held = claim_one(kept, queue, now=api.engine.clock.now())
        kept.append_logs([log_batch(held, *messages)])
        finish(kept, fail(held))

    async def live(uuid: str, queue: str) -> None:
        events = stream_of(api, JOB, Visit({"uuid": uuid}, {}), HEADERS)
        await said(events, b'"next":1')
        faults.calls.clear()
        await until(lambda: faults.calls.count("count_logs") > 3, "it to be looked for more")
        assert "read_logs" not in faults.calls
        await asyncio.to_thread(api.engine.jobs.retry, uuid)
        await asyncio.to_thread(fail_again, queue, "line-two")
        assert b"line-one" not in await said(events, b"line-two")
        await events.aclose()  # type: ignore[attr-defined]

    with served(api) as client:
        client.post("/api/job_types", json={"name": "x", "executor": "log"})
        uuid = client.post("/api/jobs", json={"job_type": "x"}).json()["uuid"]
        queue = api.engine.definitions.node_type("default").uuid
        fail_again(queue, "line-one")
        asyncio.run(live(uuid, queue))
