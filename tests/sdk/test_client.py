"""The client, in both colours, against a server on a real socket."""

import asyncio
import inspect
import threading
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
from starlette.types import Receive, Scope, Send

from rota.errors import AuthError, Conflict, InvalidInput, NotFound, StoreError, StoreFull, StoreUnavailable
from rota.model.events.configuration_request import read_configuration
from rota.model.job import Claim, JobState
from rota.model.node import NodeType
from rota.model.runs.log import LogEntry
from rota.model.runs.outcome import succeeded
from rota.model.runs.retry import RetryPolicy
from rota.model.runs.settlement import settle
from rota.sdk import client as client_module
from rota.sdk.client import AsyncClient, Client, PagedVerb, Verb, Verbs
from rota.sdk.failures import failure
from rota.sdk.inputs import NewJob, Which
from rota.sdk.paging import WaitedTooLong
from rota.sdk.shapes import LogLine
from rota.server.api import Api
from rota.server.app import make_app
from rota.store import Store, open_store
from rota.store.contract.logs import LogBatch
from tests.patience import DEADLINE_S
from tests.ports import free_port
from tests.sdk.serving import Cutting, serving
from tests.server.serving import KEY, make_api
from tests.servers import wait_until

QUEUE = "1bd2bf95-868a-4212-8a0a-82c7f442848e"


@pytest.fixture
def api() -> Iterator[Api]:
    store = open_store("sqlite://:memory:")
    store.put_node_types([NodeType(uuid=QUEUE, name="default", thread_count=4)])
    api = make_api(store)
    yield api
    api.close()
    store.close()


@pytest.fixture
def app(api: Api) -> Cutting:
    return Cutting(make_app(api))


@pytest.fixture
def url(app: Cutting) -> Iterator[str]:
    with serving(app) as url:
        yield url


@pytest.fixture
def client(url: str) -> Iterator[Client]:
    with Client(url, key=KEY) as client:
        yield client


@pytest.fixture
def job_type(client: Client) -> str:
    return client.create_job_type("report", "bash", metadata={"command": "true"}, timeout=5000)


def claim(store: Store, now: int) -> Claim:
    return store.claim_jobs(QUEUE, token="n/1", limit=1, now=now).claims[0]


def run(store: Store, now: int, *messages: str) -> None:
    """What a node does with the next job."""
    held = claim(store, now)
    entries = [LogEntry(now, message) for message in messages]
    store.append_logs([LogBatch(QUEUE, held.spec.id, held.token, entries)])
    outcome = succeeded({"said": len(messages)})
    settled = settle(held, outcome, policy=RetryPolicy(), started_at=now, now=now, chance=0.5)
    store.finish_jobs(QUEUE, [settled], now=now)


# -- definitions ---------------------------------------------------------------------------------------------------


def test_job_types_are_created_listed_shown_and_deleted(client: Client, job_type: str) -> None:
    shown = client.get_job_type(job_type)

    assert (shown.name, shown.timeout, shown.metadata) == ("report", 5000, {"command": "true"})
    assert client.list_job_types() == [shown]
    assert client.change_job_type(job_type, timeout=None).timeout is None
    assert client.delete_job_type(job_type) == job_type
    assert client.list_job_types() == []


def test_node_types_are_listed_and_paused(client: Client, api: Api) -> None:
    assert [(one.uuid, one.name, one.thread_count) for one in client.list_node_types()] == [(QUEUE, "default", 4)]
    assert client.list_nodes() == []
    client.put_node_type(QUEUE, "default", 5)
    assert client.get_node_type(QUEUE).thread_count == 5
    assert client.pause_node_type(QUEUE) == QUEUE
    assert api.engine.store.paused_queues() == {QUEUE}


# -- jobs ----------------------------------------------------------------------------------------------------------


def test_a_job_is_enqueued_and_shown(client: Client, job_type: str) -> None:
    uuid = str(uuid4())

    made = client.enqueue("report", {"day": "monday"}, priority=3, uuid=uuid)
    again = client.enqueue(job_type, {"day": "monday"}, uuid=uuid)
    job = client.get_job(uuid)

    assert (made.uuid, made.is_new, again.is_new) == (uuid, True, False)
    assert (job.state, job.arguments, job.priority) == (JobState.QUEUED, {"day": "monday"}, 3)


def test_all_pages_are_walked_through(client: Client, job_type: str) -> None:
    wishes = [NewJob(job_type_uuid=job_type, arguments={"n": n}) for n in range(25)]

    made = [one.uuid for one in client.enqueue_many(wishes)]
    found = [job.uuid for job in client.jobs(page=10)]

    assert found == made
    assert list(client.jobs(Which(state=["running"]))) == []
    assert len(client.list_jobs(limit=7).jobs) == 7


def test_jobs_are_cancelled_brought_back_and_deleted(client: Client, job_type: str) -> None:
    uuid = client.enqueue(job_type).uuid

    assert client.cancel_job(uuid).answer == "cancelled"
    assert client.get_job(uuid).state is JobState.CANCELLED
    client.retry_job(uuid)
    assert client.get_job(uuid).state is JobState.QUEUED
    assert client.cancel_jobs(Which(state=["queued"]), dry_run=True).changed == 0
    assert client.cancel_jobs(Which()).changed == 1
    assert client.delete_job(uuid) == uuid


def test_waiting_gives_the_job_that_ended(client: Client, api: Api, job_type: str) -> None:
    uuid = client.enqueue(job_type).uuid
    with pytest.raises(WaitedTooLong, match=r"is still queued after 0\.01 s"):
        client.wait(uuid, timeout_s=0.01)

    run(api.engine.store, api.engine.clock.now(), "one")

    job = client.wait(uuid, timeout_s=60)
    assert (job.state, job.results) == (JobState.SUCCEEDED, {"said": 1})


def test_waiting_for_a_slow_server_is_waiting_too(app: Cutting, client: Client, job_type: str) -> None:
    uuid = client.enqueue(job_type).uuid
    app.delay_s = 0.2

    with pytest.raises(WaitedTooLong):
        client.wait(uuid, timeout_s=0.2)

    assert app.delayed == 1, "after the first answer the time is over"


def test_logs_are_read_by_page_and_followed_through_a_break(
    client: Client, api: Api, app: Cutting, job_type: str
) -> None:
    uuid = client.enqueue(job_type).uuid
    run(api.engine.store, api.engine.clock.now(), "one", "two", "drei: ü\nand more")
    app.cuts = 2

    page = client.read_logs(uuid, after=1, limit=1)
    followed = [line.message for line in client.follow_logs(uuid)]

    assert ([line.message for line in page.logs], page.next, page.more) == (["two"], 2, True)
    assert followed == ["one", "two", "drei: ü\nand more"]
    assert app.cuts == 0


class Follower:
    """Follows a log in a thread, and knows how often it has asked for it."""

    def __init__(self, url: str, uuid: str, *, is_async: bool) -> None:
        self.tries = 0
        self.lines: list[str] = []
        self.error: Exception | None = None
        self._url, self._uuid = url, uuid
        self.thread = threading.Thread(target=self._follow_async if is_async else self._follow, daemon=True)
        self.thread.start()

    def _follow(self) -> None:
        try:
            with Client(self._url, key=KEY) as client:
                client._http.stream = self._counting(client._http.stream)  # type: ignore[method-assign]
                for line in client.follow_logs(self._uuid):
                    self.lines.append(line.message)
        except Exception as error:
            self.error = error

    def _follow_async(self) -> None:
        async def follow() -> None:
            async with AsyncClient(self._url, key=KEY) as client:
                client._http.stream = self._counting(client._http.stream)  # type: ignore[method-assign]
                async for line in client.follow_logs(self._uuid):
                    self.lines.append(line.message)

        try:
            asyncio.run(follow())
        except Exception as error:
            self.error = error

    def _counting(self, stream: Any) -> Any:
        def counted(*args: Any, **named: Any) -> Any:
            self.tries += 1
            return stream(*args, **named)

        return counted


@pytest.mark.parametrize("is_async", [False, True])
def test_a_log_is_followed_while_the_server_restarts(api: Api, app: Cutting, is_async: bool) -> None:
    store, now, port = api.engine.store, api.engine.clock.now(), free_port()
    with serving(app, port=port) as url, Client(url, key=KEY) as client:
        uuid = client.enqueue(client.create_job_type("report", "bash", metadata={"command": "true"})).uuid
        held = claim(store, now)
        store.append_logs([LogBatch(QUEUE, uuid, held.token, [LogEntry(now, "one")])])
        follower = Follower(url, uuid, is_async=is_async)
        wait_until(lambda: follower.lines == ["one"], "the first line")
    before = follower.tries
    wait_until(lambda: follower.tries >= before + 2 or not follower.thread.is_alive(), "it to try in vain")
    with serving(app, port=port):
        store.append_logs([LogBatch(QUEUE, uuid, held.token, [LogEntry(now, "two")])])
        settled = settle(held, succeeded(), policy=RetryPolicy(), started_at=now, now=now, chance=0.5)
        store.finish_jobs(QUEUE, [settled], now=now)
        follower.thread.join(DEADLINE_S)

    assert (follower.lines, follower.error) == (["one", "two"], None)


@pytest.mark.parametrize("is_async", [False, True])
def test_a_server_that_does_not_come_back_is_not_followed_for_ever(
    api: Api, app: Cutting, is_async: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_module, "_AWAY_S", 0.0)
    store, now = api.engine.store, api.engine.clock.now()
    with serving(app, port=free_port()) as url, Client(url, key=KEY) as client:
        uuid = client.enqueue(client.create_job_type("report", "bash", metadata={"command": "true"})).uuid
        store.append_logs([LogBatch(QUEUE, uuid, claim(store, now).token, [LogEntry(now, "one")])])
        follower = Follower(url, uuid, is_async=is_async)
        wait_until(lambda: follower.lines == ["one"], "the first line")
    follower.thread.join(DEADLINE_S)

    assert isinstance(follower.error, StoreUnavailable)


def test_a_server_that_never_answered_is_not_waited_for() -> None:
    with Client(f"http://127.0.0.1:{free_port()}", key=KEY) as client, pytest.raises(StoreUnavailable):
        list(client.follow_logs(str(uuid4())))


# -- schedules -----------------------------------------------------------------------------------------------------


ODD_LINES = ["a\u2028b", "a\x85b", "a\u2029b"]
"""With characters at which Python ends a line; JSON has them as they are."""


def test_a_followed_line_may_hold_what_ends_lines_elsewhere(client: Client, api: Api, url: str, job_type: str) -> None:
    uuid = client.enqueue(job_type).uuid
    run(api.engine.store, api.engine.clock.now(), *ODD_LINES)

    async def follow() -> list[str]:
        async with AsyncClient(url, key=KEY) as client:
            return [line.message async for line in client.follow_logs(uuid)]

    assert [line.message for line in client.follow_logs(uuid)] == ODD_LINES
    assert asyncio.run(follow()) == ODD_LINES


async def page_to_log_in(scope: Scope, receive: Receive, send: Send) -> None:
    """Somebody else's answer: the way to a page, and the page."""
    away = b"/api/jobs/a/" in scope["raw_path"]
    headers = [(b"location", b"/login")] if away else [(b"content-type", b"text/html")]
    await send({"type": "http.response.start", "status": 302 if away else 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"<html>\n\n</html>\n"})


@pytest.mark.parametrize(
    ("uuid", "told"), [("a", "GET /api/jobs/a/logs/stream: the server answered 302"), ("b", "no stream of events")]
)
def test_an_answer_that_is_no_log_is_not_asked_for_again_and_again(uuid: str, told: str) -> None:
    async def follow(url: str) -> list[LogLine]:
        async with AsyncClient(url, key=KEY) as client:
            return [line async for line in client.follow_logs(uuid)]

    with serving(page_to_log_in) as url:
        with Client(url, key=KEY) as client, pytest.raises(StoreError, match=told):
            list(client.follow_logs(uuid))
        with pytest.raises(StoreError, match=told):
            asyncio.run(follow(url))


def test_schedules_are_created_listed_paused_and_deleted(client: Client, job_type: str) -> None:
    made = {client.create_schedule(job_type, interval=60_000, job_arguments={"n": n}) for n in range(5)}
    nightly = client.create_schedule("report", cron="30 2 * * *", tz="Europe/Berlin", name="nightly")

    assert {one.uuid for one in client.schedules()} == made | {nightly}
    assert client.get_schedule(nightly).name == "nightly"
    client.pause_schedule(nightly)
    assert client.get_schedule(nightly).paused
    client.resume_schedule(nightly)
    assert not client.get_schedule(nightly).paused
    assert client.list_ticks(nightly) == []
    assert client.delete_schedule(nightly) == nightly
    assert {one.uuid for one in client.schedules()} == made


# -- errors --------------------------------------------------------------------------------------------------------


def test_refusals_are_the_errors_that_rota_itself_raises(client: Client, url: str, job_type: str) -> None:
    unknown = str(uuid4())
    with pytest.raises(NotFound) as missing:
        client.get_job(unknown)
    with pytest.raises(InvalidInput) as bad:
        client.enqueue(job_type, priority=10**9)
    with pytest.raises(Conflict, match="only ended jobs can be deleted"):
        client.delete_job(client.enqueue(job_type).uuid)
    with Client(url, key="wrong") as stranger, pytest.raises(AuthError, match="a valid key is needed"):
        stranger.list_nodes()
    with pytest.raises(NotFound):
        list(client.follow_logs(unknown))

    assert (missing.value.kind, missing.value.name, str(missing.value)) == ("job", unknown, f"no job '{unknown}'")
    assert bad.value.field == "priority"


def test_a_server_that_is_not_there_is_named() -> None:
    with (
        Client("http://127.0.0.1:1", key=KEY) as client,
        pytest.raises(StoreUnavailable, match=r"127\.0\.0\.1:1.*is a Rota server running there"),
    ):
        client.list_nodes()


@pytest.mark.parametrize("kind", [Client, AsyncClient])
@pytest.mark.parametrize("key", ["", "sesame\n", " sesame", "sesame\x00", "ses\xe4me"])
def test_a_key_that_no_header_can_carry_is_refused_and_not_shown(kind: type[Client | AsyncClient], key: str) -> None:
    with pytest.raises(AuthError, match="has a character that no key has") as refused:
        kind("http://127.0.0.1:1", key=key)

    assert "sesame" not in str(refused.value)


@pytest.mark.parametrize(
    "url", ["http://user:p/w@127.0.0.1:1", "user:p/w@127.0.0.1:1", "http://[::1", "127.0.0.1:1", "http://a..b:1", ""]
)
def test_what_is_no_address_of_a_server_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(InvalidInput, match="is no address of a server") as refused, Client(url, key=KEY) as client:
        client.list_nodes()

    assert "p/w" not in str(refused.value)


def test_the_password_in_an_address_is_not_shown() -> None:
    with (
        Client("http://user:sesame@127.0.0.1:1", key=KEY) as client,
        pytest.raises(StoreUnavailable, match=r"^http://user:\*+@127\.0\.0\.1:1: "),
    ):
        client.list_nodes()


@pytest.mark.parametrize("uuid", ["../node_types", "..", "."])
def test_an_id_cannot_leave_its_place_in_the_path(client: Client, uuid: str) -> None:
    with pytest.raises((NotFound, InvalidInput)):
        client.get_job(uuid)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, InvalidInput),
        (413, InvalidInput),
        (415, InvalidInput),
        (422, InvalidInput),
        (401, AuthError),
        (402, StoreError),
        (403, AuthError),
        (404, NotFound),
        (405, StoreError),
        (409, Conflict),
        (429, StoreUnavailable),
        (500, StoreError),
        (502, StoreUnavailable),
        (503, StoreUnavailable),
        (504, StoreUnavailable),
        (505, StoreError),
        (507, StoreFull),
    ],
)
@pytest.mark.parametrize("content", [b"", b"<html>", b'{"status":"error","error":"some words"}', b"[1]"])
def test_every_bad_status_is_an_error_with_a_message(status: int, kind: type[Exception], content: bytes) -> None:
    error = failure(status, content, "GET /api/x")

    assert type(error) is kind
    assert "some words" in str(error) or "GET /api/x" in str(error)


# -- both colours --------------------------------------------------------------------------------------------------


def test_the_asynchronous_client_does_the_same(client: Client, api: Api, app: Cutting, url: str, job_type: str) -> None:
    async def use() -> None:
        async with AsyncClient(url, key=KEY) as rota:
            made = await rota.enqueue("report", {"day": "monday"})
            assert [job.uuid async for job in rota.jobs()] == [made.uuid]
            with pytest.raises(WaitedTooLong):
                await rota.wait(made.uuid, timeout_s=0.01)
            run(api.engine.store, api.engine.clock.now(), "one", "two")
            app.cuts = 1
            assert [line.message async for line in rota.follow_logs(made.uuid)] == ["one", "two"]
            assert (await rota.wait(made.uuid)).results == {"said": 2}
            with pytest.raises(NotFound):
                await rota.get_job(str(uuid4()))
            with pytest.raises(NotFound):
                _ = [line async for line in rota.follow_logs(str(uuid4()))]

    asyncio.run(use())


def test_both_clients_have_every_verb_and_every_verb_says_what_it_does() -> None:
    verbs = {name for name, one in vars(Verbs).items() if isinstance(one, Verb | PagedVerb)}
    own = {name for name in dir(Client) if not name.startswith("_")}

    assert own == {name for name in dir(AsyncClient) if not name.startswith("_")}
    assert len(verbs) > 30
    assert all(inspect.getdoc(getattr(Verbs, name)) for name in verbs)


def test_the_client_asks_why_of_jobs_schedules_and_configurations(api: Api, client: Client, job_type: str) -> None:
    job = client.enqueue("report", delay=60_000).uuid
    schedule = client.create_schedule("report", cron="30 2 * * *")
    dependency = {"type": "FILE", "resourceId": "/in", "lifeDuration": 60}
    api.engine.configurations.create(read_configuration({"name": "arrival", "dependencies": [dependency]}, ()))

    of_job, of_queue, of_schedule, of_configuration = (
        client.why_job(job),
        client.why_queue("default"),
        client.why_schedule(schedule),
        client.why_configuration("arrival"),
    )

    assert (of_job.code, [one.code for one in of_job.also]) == ("not_due", ["no_live_node"])
    assert of_job.until is not None
    assert of_queue.code == of_schedule.code == "no_live_node"
    assert (of_configuration.code, of_configuration.dependency) == ("dependency_missing", dependency)
