"""Logs over HTTP: pages, and live streams in which no follower misses a line."""

import asyncio
from collections.abc import Iterator

import msgspec
import pytest
from starlette.datastructures import Headers
from starlette.testclient import TestClient

from rota.clock import ManualClock
from rota.engine.access.keys.access import ADMIN
from rota.engine.jobs.intake import JobRequest
from rota.model.ids import new_id
from rota.model.job import Claim
from rota.model.job_type import JobType
from rota.model.runs.log import LogEntry
from rota.model.runs.outcome import Outcome, failed, succeeded
from rota.model.runs.retry import RetryPolicy
from rota.model.runs.settlement import settle
from rota.server.api import Api
from rota.server.live_logs import feeds as feeds_module
from rota.server.live_logs import latest
from rota.server.live_logs.feeds import LogFeeds
from rota.server.live_logs.latest import Line
from rota.server.operations import Call
from rota.server.routes.jobs import logs
from rota.server.routes.jobs.logs import LogQuery, _events
from rota.store import Store
from rota.store.contract.logs import LogBatch
from rota.testing import Faults
from tests.contract.building import enqueue, spec
from tests.engine.working import until
from tests.patience import DEADLINE_S
from tests.server.serving import BEARER, make_api
from tests.servers import wait_until

NOW = 1_700_000_000_000


class RunningJob:
    """A job in the hands of a node that does as it is told."""

    def __init__(self, api: Api) -> None:
        now = api.engine.clock.now()
        job_type = JobType(uuid=new_id(now), name="talker", executor="log")
        api.engine.definitions.define_job_type(job_type)
        self._store = api.engine.store
        self.queue = api.engine.definitions.node_type("default").uuid
        spec = api.engine.intake.make_spec(JobRequest(job_type="talker"), now)
        api.engine.store.enqueue_jobs([spec], now=now)
        self.id = spec.id
        self._claim: Claim = api.engine.store.claim_jobs(self.queue, token=f"{new_id(now)}/1", limit=1, now=now).claims[
            0
        ]

    def say(self, *messages: str, level: str = "info", time: int = NOW) -> None:
        entries = [LogEntry(time, message, level) for message in messages]
        assert not self._store.append_logs([LogBatch(self.queue, self.id, self._claim.token, entries)])

    def end(self) -> None:
        self._settle(succeeded())

    def fail(self) -> None:
        self._settle(failed("no"))

    def _settle(self, outcome: Outcome) -> None:
        done = settle(self._claim, outcome, policy=RetryPolicy(), started_at=NOW, now=NOW, chance=0.0)
        assert not self._store.finish_jobs(self.queue, [done], now=NOW)


@pytest.fixture
def job(api: Api) -> RunningJob:
    return RunningJob(api)


def events(text: str) -> list[dict[str, str]]:
    """Events of a stream, comments left out."""
    blocks = [block for block in text.split("\n\n") if block and not block.startswith(":")]
    return [dict(line.split(": ", 1) for line in block.splitlines()) for block in blocks]


def test_a_log_is_read_page_by_page(admin: TestClient, job: RunningJob) -> None:
    job.say(*[str(n) for n in range(5)])

    first = admin.get(f"/api/jobs/{job.id}/logs?limit=3").json()
    second = admin.get(f"/api/jobs/{job.id}/logs", params={"after": first["next"]}).json()

    assert [one["message"] for one in first["logs"]] == ["0", "1", "2"]
    assert first["more"] is True
    assert [one["message"] for one in second["logs"]] == ["3", "4"]
    assert (second["next"], second["more"]) == (5, False)
    assert first["logs"][0] == {"time": NOW, "level": "info", "message": "0", "attempt": 1}


def test_a_log_is_read_by_time_and_level(admin: TestClient, job: RunningJob) -> None:
    for step, level in enumerate(("debug", "info", "warning", "error")):
        job.say(level, level=level, time=NOW + step)

    def read(**query: object) -> list[str]:
        answer = admin.get(f"/api/jobs/{job.id}/logs", params=query)  # type: ignore[arg-type]
        return [one["message"] for one in answer.json()["logs"]]

    assert read(level="warning") == ["warning", "error"]
    assert read(start=NOW + 1, end=NOW + 3) == ["info", "warning"]
    assert read(level="error", limit=1) == ["error"]
    assert admin.get(f"/api/jobs/{job.id}/logs?level=loud").status_code == 400
    assert admin.get(f"/api/jobs/{new_id(1)}/logs").status_code == 404


def test_a_stream_has_every_line_and_the_end(admin: TestClient, job: RunningJob) -> None:
    job.say("one", "two\nlines")
    job.end()

    answer = admin.get(f"/api/jobs/{job.id}/logs/stream")

    assert answer.headers["content-type"].startswith("text/event-stream")
    first, second, last = events(answer.text)
    assert (first["id"], msgspec.json.decode(first["data"])["message"]) == ("1", "one")
    assert (second["id"], msgspec.json.decode(second["data"])["message"]) == ("2", "two\nlines")
    assert last == {"event": "end", "data": '{"state":"succeeded"}'}


@pytest.mark.parametrize("headers", [{"Last-Event-ID": "1"}, {}])
def test_a_stream_goes_on_where_it_was_cut_off(admin: TestClient, job: RunningJob, headers: dict[str, str]) -> None:
    job.say("one", "two")
    job.end()
    query = "" if headers else "?after=1"

    answer = admin.get(f"/api/jobs/{job.id}/logs/stream{query}", headers=headers)

    assert [one.get("id") for one in events(answer.text)] == ["2", None]


def test_a_stream_of_an_unknown_job_is_not_found(admin: TestClient) -> None:
    assert admin.get(f"/api/jobs/{new_id(1)}/logs/stream").status_code == 404


def test_a_stream_beyond_the_end_of_the_log_ends_too(admin: TestClient, job: RunningJob) -> None:
    job.end()

    answer = admin.get(f"/api/jobs/{job.id}/logs/stream", headers={"Last-Event-ID": "99"})

    assert [one.get("event") for one in events(answer.text)] == ["end"]


@pytest.mark.parametrize("text", ["", "x", "-1", "1.0", "0x1", "²", "1" * 16, " "])
def test_a_last_event_id_that_is_none_of_ours_begins_at_the_beginning(
    admin: TestClient, job: RunningJob, text: str
) -> None:
    job.say("one")
    job.end()

    answer = admin.get(f"/api/jobs/{job.id}/logs/stream", headers=[(b"Last-Event-ID", text.encode())])

    assert [one.get("id") for one in events(answer.text)] == ["1", None]


def test_a_stream_opens_at_once_and_keeps_the_places_of_lines_that_are_not_wanted(
    admin: TestClient, job: RunningJob
) -> None:
    for step, level in enumerate(("debug", "error", "info", "warning")):
        job.say(level, level=level, time=NOW + step)
    job.end()

    answer = admin.get(f"/api/jobs/{job.id}/logs/stream?level=warning")
    by_time = admin.get(f"/api/jobs/{job.id}/logs/stream", params={"start": NOW + 1, "end": NOW + 3})

    assert answer.text.startswith(": open\n\n")
    assert [one.get("id") for one in events(answer.text)] == ["2", "4", None]
    assert [one.get("id") for one in events(by_time.text)] == ["2", "3", None]


def test_the_header_of_a_client_that_was_cut_off_beats_its_first_query(admin: TestClient, job: RunningJob) -> None:
    job.say("one", "two", "three")
    job.end()

    answer = admin.get(f"/api/jobs/{job.id}/logs/stream?after=1", headers={"Last-Event-ID": "2"})

    assert [one.get("id") for one in events(answer.text)] == ["3", None]


def test_a_page_of_a_log_reads_on_behind_what_is_not_wanted(admin: TestClient, job: RunningJob) -> None:
    job.say(*["noise"] * 2_500, level="debug")
    job.say("a", "b", "c", level="error")

    first = admin.get(f"/api/jobs/{job.id}/logs?level=error&limit=2").json()
    rest = admin.get(f"/api/jobs/{job.id}/logs", params={"level": "error", "after": first["next"]}).json()

    assert ([one["message"] for one in first["logs"]], first["next"], first["more"]) == (["a", "b"], 2_502, True)
    assert ([one["message"] for one in rest["logs"]], rest["next"], rest["more"]) == (["c"], 2_503, False)


@pytest.fixture
def feeds(kept: Store) -> Iterator[LogFeeds]:
    api = make_api(kept)
    yield api.log_feeds
    api.close()


async def follow(feeds: LogFeeds, job_id: str, after: int = 0, *, slowly: bool = False) -> list[str]:
    """The messages that a follower gets until the end."""
    found: list[str] = []
    async for lines in feeds.follow(job_id, after=after, idle_s=30):
        found += [line.entry.message for line in lines or []]
        if slowly:
            await asyncio.sleep(0)
    return found


def test_three_hundred_followers_miss_no_line(job: RunningJob, feeds: LogFeeds) -> None:
    said = [f"line {n}" for n in range(4_000)]

    async def live() -> list[list[str]]:
        followers = [asyncio.create_task(follow(feeds, job.id, slowly=n % 2 == 0)) for n in range(150)]
        for start in range(0, len(said), 400):
            await asyncio.to_thread(job.say, *said[start : start + 400])
            followers += [asyncio.create_task(follow(feeds, job.id)) for _ in range(15)]
        await asyncio.to_thread(job.end)
        return await asyncio.gather(*followers)

    found = asyncio.run(live())

    assert len(found) == 300
    assert all(one == said for one in found)


def has_dropped_lines(feeds: LogFeeds) -> bool:
    return any(feed.lines_behind(0) is None for feed in feeds._feeds.values())


def test_a_follower_who_is_far_behind_reads_the_store_and_catches_up(job: RunningJob, feeds: LogFeeds) -> None:
    said = [f"line {n}" for n in range(5_000)]
    job.say(*said)

    async def live() -> tuple[list[str], list[str]]:
        early = asyncio.create_task(follow(feeds, job.id, after=4_990))
        await asyncio.to_thread(wait_until, lambda: has_dropped_lines(feeds), "the feed to keep the latest lines only")
        late = asyncio.create_task(follow(feeds, job.id))
        await asyncio.to_thread(job.end)
        return await early, await late

    early, late = asyncio.run(live())

    assert early == said[4_990:]
    assert late == said


def test_a_quiet_job_gives_signs_of_life(job: RunningJob, feeds: LogFeeds) -> None:
    async def live() -> list[Line] | None:
        following = feeds.follow(job.id, after=0, idle_s=0.001)
        first = await anext(following)
        await following.aclose()
        assert feeds._feeds == {}, "who leaves last ends the feed"
        return first

    assert asyncio.run(live()) is None


def test_who_follows_a_quiet_job_hears_every_fifteen_seconds_that_the_server_is_there(
    kept: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logs, "KEY_CHECK_S", 0.001)  # so often it is looked whether it is time
    clock = ManualClock()
    api = make_api(kept, clock=clock)
    job = RunningJob(api)
    call = Call[None, LogQuery]({}, LogQuery(level="error"), None, ADMIN, Headers(BEARER))

    async def live() -> list[bytes]:
        said = _events(api, job.id, 0, call)
        found = [await anext(said)]
        for silence_ms in (14_999, 14_999, 15_000, 14_999, 15_000):
            clock.advance(silence_ms)
            await asyncio.to_thread(job.say, "not wanted")
            if silence_ms < 15_000:
                await asyncio.to_thread(job.say, "wanted", level="error")
            found.append(await asyncio.wait_for(anext(said), DEADLINE_S))
        await said.aclose()  # type: ignore[attr-defined]
        return found

    opening, *found = asyncio.run(live())
    api.close()

    assert opening == b": open\n\n"
    assert [chunk == b": still there\n\n" for chunk in found] == [False, False, True, False, True]
    assert [chunk.count(b'"message":"wanted"') for chunk in found] == [1, 1, 0, 1, 0]


def test_who_leaves_gives_room_and_looks_back_to_those_who_stay(
    kept: Store, job: RunningJob, feeds: LogFeeds, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feeds_module, "_MOST_LOOKS_PER_S", 5)
    others = [spec(job.queue) for _ in range(19)]
    enqueue(kept, *others)

    def shares() -> set[tuple[int, float]]:
        return {(feed.most_letters, feed.longest_pause_s) for feed in feeds._followed}

    async def live() -> None:
        staying, *leaving = [asyncio.create_task(follow(feeds, one)) for one in (job.id, *(one.id for one in others))]
        await until(lambda: len(feeds._followed) == 20, "all to follow")
        assert shares() == {(latest.LETTERS_TOGETHER // 20, 4.0)}

        for one in leaving:
            one.cancel()
        await asyncio.gather(*leaving, return_exceptions=True)
        assert shares() == {(latest.MOST_LETTERS, 0.2)}
        feeds.close()
        await staying

    asyncio.run(live())


def test_many_feeds_keep_less_each_and_no_follower_misses_a_line(
    job: RunningJob, feeds: LogFeeds, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(latest, "LETTERS_TOGETHER", 20_000)
    said = [f"{n:05} " + "x" * 1_000 for n in range(300)]

    async def live() -> list[list[str]]:
        early = [asyncio.create_task(follow(feeds, job.id)) for _ in range(2)]
        await asyncio.to_thread(job.say, *said[:100])
        await asyncio.to_thread(wait_until, lambda: has_dropped_lines(feeds), "the feed to keep the latest lines only")
        assert all(feed.latest.size <= 20_000 for feed in feeds._followed)
        late = asyncio.create_task(follow(feeds, job.id))
        await asyncio.to_thread(job.say, *said[100:])
        await asyncio.to_thread(job.end)
        return await asyncio.gather(*early, late)

    assert asyncio.run(live()) == [said] * 3


def test_feeds_of_ended_jobs_share_the_room_too(job: RunningJob, feeds: LogFeeds) -> None:
    job.say("one", "two")
    job.end()

    async def live() -> list[int]:
        held = []
        for _ in range(40):  # each comes after the feed of the one before is over, and has one of its own
            following = feeds.follow(job.id, after=0, idle_s=60)
            await anext(following)
            held.append(following)
            await until(lambda: all(feed.is_over for feed in feeds._followed), "the feed to be over")
        found = [feed.most_letters for feed in feeds._followed]
        for following in held:
            await following.aclose()
        return found

    found = asyncio.run(live())

    assert found == [latest.LETTERS_TOGETHER // 40] * 40
    assert not feeds._followed
    assert not feeds._feeds


def test_a_stopping_server_lets_its_followers_go(job: RunningJob, feeds: LogFeeds) -> None:
    job.say("one")

    async def live() -> list[str]:
        follower = asyncio.create_task(follow(feeds, job.id))
        await asyncio.to_thread(wait_until, lambda: bool(feeds._feeds), "the follower to begin")
        feeds.close()
        return await asyncio.wait_for(follower, 60)

    assert asyncio.run(live()) in ([], ["one"])


def test_all_who_follow_a_job_share_one_reader_and_the_last_one_ends_it(job: RunningJob, feeds: LogFeeds) -> None:
    async def live() -> tuple[int, list[list[str]], int]:
        followers = [asyncio.create_task(follow(feeds, job.id)) for _ in range(5)]
        await asyncio.to_thread(wait_until, lambda: followers_of(feeds) == [5], "all of them to begin")
        readers = len(feeds._feeds)
        await asyncio.to_thread(job.say, "one")
        await asyncio.to_thread(job.end)
        return readers, await asyncio.gather(*followers), len(feeds._feeds)

    assert asyncio.run(live()) == (1, [["one"]] * 5, 0)


def followers_of(feeds: LogFeeds) -> list[int]:
    return [feed.followers for feed in feeds._feeds.values()]


def test_a_follower_keeps_its_place_while_the_store_is_away(job: RunningJob, kept: Store) -> None:
    faults = Faults(kept)
    feeds = LogFeeds(faults.store, asyncio.to_thread)
    job.say("one")

    async def live() -> list[str]:
        following = feeds.follow(job.id, after=0, idle_s=30)
        found = [line.entry.message for line in await anext(following) or []]
        faults.cut_off()
        failed = len(faults.calls)
        await asyncio.to_thread(wait_until, lambda: len(faults.calls) > failed + 1, "the reader to fail and try again")
        await asyncio.to_thread(job.say, "two")
        await asyncio.to_thread(job.end)
        faults.reconnect()
        async for lines in following:
            found += [line.entry.message for line in lines or []]
        return found

    assert asyncio.run(live()) == ["one", "two"]


def test_the_stream_of_a_job_that_is_forgotten_ends(job: RunningJob, kept: Store, feeds: LogFeeds) -> None:
    job.say("one")

    async def live() -> list[str]:
        follower = asyncio.create_task(follow(feeds, job.id))
        await asyncio.to_thread(wait_until, lambda: followers_of(feeds) == [1], "the follower to begin")
        await asyncio.to_thread(job.end)
        await asyncio.to_thread(kept.delete_jobs, [job.id])
        return await asyncio.wait_for(follower, 60)

    assert asyncio.run(live()) in ([], ["one"])
    assert asyncio.run(feeds.final_state(job.id)) is None


def test_who_follows_a_stopping_server_is_not_told_an_end_of_the_job(job: RunningJob, api: Api) -> None:
    call = Call[None, LogQuery]({}, LogQuery(), None, ADMIN, Headers(BEARER))

    async def live() -> list[bytes]:
        api.end_streams()
        return [chunk async for chunk in _events(api, job.id, 0, call)]

    assert asyncio.run(live()) == [b": open\n\n"]


def test_who_follows_a_job_that_was_brought_back_does_not_share_the_reader_of_its_first_end(
    job: RunningJob, kept: Store, feeds: LogFeeds
) -> None:
    async def live() -> list[list[Line] | None]:
        slow = feeds.follow(job.id, after=0, idle_s=0.001)
        assert await anext(slow) is None
        await asyncio.to_thread(job.fail)
        await asyncio.to_thread(wait_until, lambda: any(one.is_over for one in feeds._feeds.values()), "its end")
        assert await asyncio.to_thread(kept.retry_jobs, [job.id], now=NOW) == [True]
        later = feeds.follow(job.id, after=0, idle_s=0.001)
        found = [await anext(later), await anext(later)]
        await later.aclose()
        await slow.aclose()
        return found

    assert asyncio.run(live()) == [None, None], "it is not over"


def test_what_a_job_says_just_before_its_end_is_not_lost(job: RunningJob, kept: Store) -> None:
    faults = Faults(kept)
    feeds = LogFeeds(faults.store, asyncio.to_thread)

    def last_words() -> None:
        job.say("last words")
        job.end()

    faults.after("read_logs", last_words)

    assert asyncio.run(follow(feeds, job.id)) == ["last words"]


def test_a_page_of_long_lines_is_cut_by_its_size_and_none_is_left_out(admin: TestClient, job: RunningJob) -> None:
    said = [f"{number} ".ljust(16_000, "a") for number in range(600)]
    job.say(*said)
    found: list[str] = []
    after, more, pages = 0, True, 0

    while more:
        answer = admin.get(f"/api/jobs/{job.id}/logs", params={"limit": 10_000, "after": after}).json()
        found += [line["message"] for line in answer["logs"]]
        after, more, pages = answer["next"], answer["more"], pages + 1

    assert (found, pages) == (said, 2)


def test_a_follower_is_given_little_at_a_time_and_misses_nothing(api: Api, job: RunningJob) -> None:
    said = [f"{number} ".ljust(16_000, "a") for number in range(400)]
    job.say(*said)
    job.end()

    async def follow() -> list[list[Line]]:
        return [lines async for lines in api.log_feeds.follow(job.id, after=0, idle_s=60) if lines]

    given = asyncio.run(follow())

    assert [line.entry.message for lines in given for line in lines] == said
    assert max(sum(len(line.entry.message) for line in lines) for lines in given) <= 256 * 1024
