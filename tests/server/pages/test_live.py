"""Pages that stay up to date: what is sent, to whom, how often it is made, and when it ends."""

import asyncio
import threading
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Any

import msgspec
import pytest
from starlette.datastructures import Headers
from starlette.testclient import TestClient

from rota.clock import ManualClock
from rota.engine.access.keys.access import ADMIN, SCOPES_OF, Caller, Role
from rota.engine.access.keys.named_keys import revoke_key
from rota.errors import StoreUnavailable
from rota.server.answers import FAULT
from rota.server.api import Api, ServerOptions
from rota.server.pages.asking import Asking
from rota.server.pages.live import screens as live
from rota.server.pages.live import stream
from rota.server.pages.live.screens import Screens, pause_s
from rota.server.pages.live.stream import Stream
from rota.server.pages.page import Context, Page, Visit
from rota.server.pages.showing.rendering import render_log
from rota.server.pages.sitemap import PAGES
from rota.store import Store
from tests.engine.working import until
from tests.patience import DEADLINE_S
from tests.server.pages.visiting import HTML, furnish, key_of, log_more, signed_in
from tests.server.serving import BASE, BEARER, KEY, make_api, served

VIEWER = Caller("eve", SCOPES_OF[Role.VIEWER], "0123")
NOWHERE = Visit({}, {})
(JOBS,) = (page for page in PAGES if page.path == "/jobs")
(JOB,) = (page for page in PAGES if page.path == "/jobs/{uuid}")


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "PERIOD_S", 0.01)
    monkeypatch.setattr(live, "_SHARE", 0)


Events = AsyncGenerator[bytes | None, None]


class Topics:
    """The page of topics, of which a test says what there is; counts how often it is asked."""

    def __init__(self) -> None:
        self.names = ["first"]
        self.asked = 0
        self.fault: Exception | None = None
        needs = ("list_topics",)
        self.page = Page(
            path="/topics", section="Topics", needs=needs, gather=self.gather, template="topics/all", parts=("list",)
        )

    def gather(self, asking: Asking, visit: Visit) -> Context:
        self.asked += 1
        if self.fault:
            raise self.fault
        return {"topics": [{"name": name, "first_offset": 0, "next_offset": 1} for name in self.names], "more": ""}

    def follow(
        self, screens: Screens, caller: Caller = ADMIN, at: str = "/topics"
    ) -> AsyncGenerator[bytes | None, None]:
        return screens.follow(self.page, NOWHERE, at, caller=caller, idle_s=60)


def parts_of(event: bytes | None) -> dict[str, str]:
    assert event is not None
    kind, data = event.decode().rstrip("\n").split("\ndata: ")
    assert kind == "event: parts"
    return {part["id"]: part["html"] for part in msgspec.json.decode(data)}


async def next_of(events: Events) -> dict[str, str]:
    return parts_of(await asyncio.wait_for(anext(events), 60))


async def trouble_of(events: Events) -> str:
    event = await asyncio.wait_for(anext(events), 60)
    assert event is not None
    kind, data = event.decode().rstrip("\n").split("\ndata: ")
    assert kind == "event: trouble"
    return str(msgspec.json.decode(data)["sentence"])


def test_all_parts_come_first_and_then_what_changed(api: Api) -> None:
    async def live() -> None:
        topics = Topics()
        async with aclosing(topics.follow(Screens(api))) as events:
            assert "first" in (await next_of(events))["part-list"]
            topics.names.append("second")
            assert "second" in (await next_of(events))["part-list"]
            asked = topics.asked
            await until(lambda: topics.asked > asked + 3, "it to be made again")
            topics.names.append("third")
            assert "third" in (await next_of(events))["part-list"], "what did not change is not sent"

    asyncio.run(live())
    api.close()


def test_those_with_the_same_rights_share_one_rendering(api: Api) -> None:
    async def live() -> None:
        topics, screens = Topics(), Screens(api)
        followers = [topics.follow(screens) for _ in range(50)]
        shown = [await next_of(one) for one in followers]
        assert len(screens._screens) == 1
        assert all(one == shown[0] for one in shown)
        other = topics.follow(screens, VIEWER)
        await next_of(other)
        elsewhere = topics.follow(screens, at="/topics?after=x")
        await next_of(elsewhere)
        assert len(screens._screens) == 3, "another key may see other things, and another query is another page"
        for one in (*followers, other, elsewhere):
            await one.aclose()
        assert screens._screens == {}, "nobody looks, so nothing is asked"

    asyncio.run(live())
    api.close()


def test_a_page_that_nobody_follows_any_more_is_made_no_more(api: Api) -> None:
    async def live() -> None:
        topics, screens = Topics(), Screens(api)
        first, second = topics.follow(screens), topics.follow(screens)
        await next_of(first)
        await next_of(second)
        (screen,) = screens._screens.values()

        await first.aclose()
        asked = topics.asked
        await until(lambda: topics.asked > asked, "it to be made for the other one")
        await second.aclose()

        await until(screen._task.done, "the task that made it to end")

    asyncio.run(live())
    api.close()


def test_a_follower_that_was_slow_gets_what_is_now(api: Api) -> None:
    async def live() -> None:
        topics, screens = Topics(), Screens(api)
        async with aclosing(topics.follow(screens)) as slow, aclosing(topics.follow(screens)) as quick:
            await next_of(slow)
            await next_of(quick)
            for name in ("second", "third", "fourth"):
                topics.names.append(name)
                await next_of(quick)
            assert "fourth" in (await next_of(slow))["part-list"]

    asyncio.run(live())
    api.close()


def test_a_page_outlives_what_goes_wrong_and_says_so_meanwhile(api: Api) -> None:
    async def live() -> None:
        topics, screens = Topics(), Screens(api)
        async with aclosing(topics.follow(screens)) as events:
            await next_of(events)
            for fault, sentence in ((StoreUnavailable("it is away"), "it is away"), (ValueError("ours"), FAULT)):
                topics.fault = fault
                assert await trouble_of(events) == sentence
                async with aclosing(topics.follow(screens)) as late:
                    await next_of(late)
                    assert await trouble_of(late) == sentence, "whoever comes meanwhile is told too"
            topics.fault = None
            assert await trouble_of(events) == ""
            topics.names.append("after")
            assert "after" in (await next_of(events))["part-list"]

    asyncio.run(live())
    api.close()


def test_who_follows_a_page_that_stays_as_it_is_hears_every_fifteen_seconds_that_the_server_is_there(
    kept: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream, "KEY_CHECK_S", 0.001)  # so often it is looked whether it is time
    clock = ManualClock()
    api = make_api(kept, clock=clock)
    topics = Topics()

    async def live() -> list[str]:
        tab = Stream(api, Screens(api), topics.page, NOWHERE)
        events = tab.events("/topics", 0, caller=ADMIN, headers=Headers(BEARER))
        found = [await anext(events), await anext(events)]
        for silence_ms in (14_999, 14_999, 15_000, 14_999, 15_000):
            clock.advance(silence_ms)
            if silence_ms < 15_000:
                topics.names.append("another")
            found.append(await asyncio.wait_for(anext(events), DEADLINE_S))
        await events.aclose()  # type: ignore[attr-defined]
        return [one.split(b"\n")[0].decode() for one in found]

    assert asyncio.run(live()) == [
        "retry: 2000",
        *["event: parts"] * 3,
        ": still there",
        "event: parts",
        ": still there",
    ]
    api.close()


def test_a_page_that_takes_long_is_made_less_often_but_not_seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()

    assert [pause_s(took_s) for took_s in (0.0, 0.01, 0.25, 60.0)] == [1.0, 1.0, 5.0, 15.0]


def test_streams_end_when_the_server_stops(api: Api) -> None:
    async def live() -> None:
        topics = Topics()
        events = topics.follow(Screens(api))
        await next_of(events)
        api.end_streams()
        assert [event async for event in events] == [], "at once, and not when something changes"

    asyncio.run(live())
    api.close()


def stream_of(api: Api, page: Page, visit: Visit, headers: dict[str, str], after: int = 0) -> AsyncIterator[bytes]:
    made = Stream(api, Screens(api), page, visit)
    return made.events(page.path, after, caller=ADMIN, headers=Headers(headers))


def test_a_jobs_log_goes_along_with_its_page(admin: TestClient, api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    uuid = furnish(admin, api, text="said <before>").paths["/jobs/{uuid}"].rpartition("/")[2]
    rendered_by: list[threading.Thread] = []

    def noted(lines: list[Any]) -> str:
        rendered_by.append(threading.current_thread())
        return render_log(lines)

    monkeypatch.setattr(stream, "render_log", noted)

    async def live() -> None:
        shown = b""
        events = stream_of(api, JOB, Visit({"uuid": uuid}, {}), {"Authorization": f"Bearer {KEY}"}, after=2)

        async def said(wanted: bytes) -> None:
            nonlocal shown
            while wanted not in shown:
                shown += await asyncio.wait_for(anext(events), 60)

        await said(b"event: parts")
        await asyncio.to_thread(log_more, api, uuid, ["said <after>"])
        await said(b"said &lt;after&gt;")
        assert b'"next":3' in shown
        assert b"<after>" not in shown
        await events.aclose()  # type: ignore[attr-defined]
        assert api.log_feeds.followers == 0

    asyncio.run(live())
    assert threading.main_thread() not in rendered_by, "colours of a log stop nobody else"


def test_a_stream_ends_with_the_key_that_opened_it(kept: Store) -> None:
    clock = ManualClock()
    api = make_api(kept, clock=clock)
    key = key_of(kept, Role.ADMIN, name="eve")
    caller = api.keys.identify(key)
    assert caller is not None

    async def live() -> None:
        headers = Headers({"Authorization": f"Bearer {key}"})
        events = Stream(api, Screens(api), JOBS, NOWHERE).events("/jobs", 0, caller=caller, headers=headers)
        await anext(events)
        await anext(events)
        revoke_key(kept, "eve")
        clock.advance(5_000)
        furnished = [event async for event in events]
        assert furnished[-1] == b"event: signed-out\ndata: {}\n\n"

    with served(api) as client:
        client.post("/api/job_types", json={"name": "x", "executor": "log"})
        asyncio.run(live())


def test_the_stream_of_a_page_is_for_those_who_may_see_it(admin: TestClient, api: Api, kept: Store) -> None:
    stranger = TestClient(admin.app, BASE)
    assert stranger.get("/live?at=/jobs").status_code == 401
    assert stranger.post("/live?at=/jobs").status_code == 405
    with signed_in(admin, KEY) as browser:
        for at in ("/nowhere", "/enqueue", "//evil.example/jobs", "/api/jobs", "", "/jobs/nonsense", "http://[", "//["):
            assert browser.get("/live", params={"at": at}).status_code in (400, 404), at


def test_what_does_not_exist_is_not_followed(kept: Store) -> None:
    api = make_api(kept, options=ServerOptions(rate_limit=0, wrong_keys_per_s=0, max_followers=1))
    api.seats.take("somebody")  # so that a stream, if one were opened, is refused at once and not followed for ever
    nobody = "01890a5d-ac96-774b-bcce-b302099a8057"
    with served(api) as admin:
        assert admin.get("/live?at=/jobs").status_code == 503
        for at in (f"/jobs/{nobody}", "/schedules/nowhere", "/configurations/nowhere", "/topics/nowhere"):
            answer = admin.get("/live", params={"at": at})
            assert answer.status_code == 404, at
            assert "nowhere" in answer.text or nobody in answer.text


def test_a_viewer_follows_what_a_viewer_sees(admin: TestClient, api: Api) -> None:
    furnish(admin, api)

    async def live() -> None:
        events = Screens(api).follow(JOBS, NOWHERE, "/jobs", caller=VIEWER, idle_s=60)
        shown = await next_of(events)
        assert "data-bulk" not in shown["part-list"]
        assert "report" in shown["part-list"]
        await events.aclose()

    asyncio.run(live())


def test_streams_leave_connections_to_others(kept: Store) -> None:
    api = make_api(kept, options=ServerOptions(max_followers=1, wrong_keys_per_s=0))
    api.seats.take("somebody")
    with served(api) as client:
        refused = client.get("/live?at=/jobs")
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "5")
        assert client.get("/jobs", headers=HTML).status_code == 200


def every_part() -> list[Any]:
    return [pytest.param(page, id=page.path) for page in PAGES if page.parts]


@pytest.mark.parametrize("page", every_part())
def test_every_part_of_a_page_has_its_place_on_it(admin: TestClient, api: Api, page: Page) -> None:
    path = furnish(admin, api).paths[page.path]

    whole = admin.get(path, headers=HTML).text

    for part in page.parts:
        assert f'id="part-{part}" data-part' in whole
    assert "data-live" in whole
