"""What the server says about itself: figures, metrics, its document, its limits."""

import asyncio
import re

import httpx2 as httpx
import pytest
from starlette.testclient import TestClient

from rota.clock import ManualClock
from rota.engine.access.keys.access import SCOPES_OF, Role
from rota.engine.access.keys.admin_key import SETTING, KeyPlan
from rota.engine.access.keys.hashes import hash_chosen_key
from rota.engine.access.keys.key_ring import KeyRing
from rota.engine.access.keys.named_keys import make_key, revoke_key
from rota.model.ids import new_id
from rota.model.job_type import JobType
from rota.server import routes
from rota.server.api import Api, ServerOptions
from rota.server.app import make_app
from rota.server.routes.system import server as system
from rota.store import Store
from tests.contract.building import enqueue, spec
from tests.server.serving import BASE, BEARER, KEY, make_api, served


@pytest.fixture(autouse=True)
def job_type(api: Api) -> None:
    api.engine.definitions.define_job_type(JobType(uuid=new_id(api.engine.clock.now()), name="report", executor="log"))


def test_time_series_count_what_happened(admin: TestClient) -> None:
    ids = [admin.post("/api/jobs", json={"job_type_uuid": "report"}).json()["uuid"] for _ in range(3)]
    admin.post(f"/api/jobs/{ids[0]}/cancel", json={})

    answer = admin.get("/api/stats?queue=default&step=60").json()

    (series,) = answer["queues"]
    assert answer["step"] == 3_600_000
    assert series["name"] == "default"
    assert sum(point["enqueued"] for point in series["points"]) == 3
    assert sum(point["cancelled"] for point in series["points"]) == 1
    assert all(point["time"] % 3_600_000 == 0 for point in series["points"])
    assert admin.get("/api/stats?until=0").json()["queues"][0]["points"] == []
    assert admin.get("/api/stats?queue=nowhere").status_code == 404


MINUTE, HOUR = 60_000, 3_600_000
NOON = 1_700_049_600_000


def test_time_series_have_the_steps_that_were_asked_for(kept: Store) -> None:
    api = make_api(kept, clock=ManualClock(NOON + 30_000))
    queue = api.engine.definitions.node_type("default").uuid
    for at in (NOON - 49 * HOUR, NOON - 2 * HOUR, NOON - 61 * MINUTE, NOON - 59 * MINUTE, NOON - MINUTE, NOON, NOON):
        enqueue(kept, spec(queue, now=at), now=at)

    def points(client: TestClient, **query: int) -> list[tuple[int, int]]:
        (series,) = client.get("/api/stats", params=query).json()["queues"]
        return [(point["time"] - NOON, point["enqueued"]) for point in series["points"]]

    with served(api) as client:
        last_hour = client.get("/api/stats").json()
        assert (last_hour["since"], last_hour["until"], last_hour["step"]) == (
            NOON - 60 * MINUTE,
            NOON + 30_001,
            MINUTE,
        )
        assert points(client) == [(-59 * MINUTE, 1), (-MINUTE, 1), (0, 2)]
        assert points(client, until=NOON) == [(-59 * MINUTE, 1), (-MINUTE, 1)]
        assert points(client, since=NOON) == [(0, 2)]
        assert points(client, since=NOON - 1) == [(-MINUTE, 1), (0, 2)], "a step is given whole"
        assert points(client, since=NOON - 3 * HOUR, step=60) == [(-2 * HOUR, 2), (-HOUR, 2), (0, 2)]
        whole = client.get("/api/stats", params={"since": 0, "step": 1440}).json()
        assert whole["since"] == NOON - 60 * HOUR, "minutes are kept for two days"


def test_metrics_are_in_prometheus_format(admin: TestClient) -> None:
    admin.post("/api/jobs", json={"job_type_uuid": "report"})

    answer = admin.get("/metrics")

    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    lines = answer.text.splitlines()
    assert 'rota_jobs{queue="default",state="queued"} 1' in lines
    assert 'rota_jobs_enqueued_total{queue="default"} 1' in lines
    assert 'rota_jobs_finished_total{queue="default",state="failed"} 0' in lines
    assert 'rota_http_requests_total{method="POST",path="/api/jobs",status="200"} 1' in lines
    for line in lines:
        assert re.fullmatch(r'# (HELP|TYPE) \w+ .+|\w+(\{\w+="[^"]*"(,\w+="[^"]*")*\})? \d+', line), line


def test_metrics_need_a_key_unless_a_setting_opens_them(api: Api, kept: Store) -> None:
    with served(api, key=None) as client:
        assert client.get("/metrics").status_code == 401
    with served(make_api(kept, options=ServerOptions(metrics_open=True)), key=None) as client:
        assert client.get("/metrics").status_code == 200
        assert client.get("/api/jobs").status_code == 401


def test_the_document_has_every_operation_and_what_it_needs(admin: TestClient) -> None:
    document = admin.get("/openapi.json").json()

    declared = {(one.path, one.method.lower()) for one in routes.ALL}
    assert document["openapi"] == "3.1.0"
    assert {(path, method) for path, methods in document["paths"].items() for method in methods} == declared
    names = [operation["operationId"] for methods in document["paths"].values() for operation in methods.values()]
    assert len(set(names)) == len(names)
    assert all(operation["summary"] for methods in document["paths"].values() for operation in methods.values())


def test_the_page_has_every_operation_and_nothing_from_elsewhere(admin: TestClient) -> None:
    page = admin.get("/docs")

    assert page.headers["content-type"].startswith("text/html")
    assert all(f"<code>{one.path}</code>" in page.text for one in routes.ALL)
    assert "<script" not in page.text
    assert "//" not in re.sub(r"<pre>.*?</pre>", "", page.text.replace("<!doctype html>", ""), flags=re.DOTALL)


@pytest.mark.parametrize("path", ["/health", "/api", "/api/nothing", "/nothing", "/docs", "/openapi.json"])
def test_every_answer_has_the_headers_of_caution(admin: TestClient, path: str) -> None:
    headers = admin.get(path).headers

    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cache-control"] == "no-store"
    assert headers["referrer-policy"] == "no-referrer"
    styles = " style-src 'unsafe-inline';" if path == "/docs" else ""
    assert headers.get_list("content-security-policy") == [f"default-src 'none';{styles} frame-ancestors 'none'"]


def test_a_head_request_is_answered_like_a_get(admin: TestClient) -> None:
    assert admin.head("/api/jobs").status_code == 200


def test_a_key_that_asks_too_often_is_told_when_to_try_again(kept: Store) -> None:
    clock = ManualClock()
    with served(make_api(kept, clock=clock, options=ServerOptions(rate_limit=2))) as client:
        statuses = [client.get("/api").status_code for _ in range(6)]
        refused = client.get("/api")
        clock.advance(1_000)
        later = client.get("/api")

    assert statuses == [200, 200, 200, 200, 429, 429]
    assert refused.headers["retry-after"] == "1"
    assert refused.json()["status"] == "error"
    assert later.status_code == 200


def test_an_address_that_guesses_keys_is_held_up(kept: Store) -> None:
    clock = ManualClock()
    with served(make_api(kept, clock=clock, options=ServerOptions()), key=None) as client:
        wrong = {"Authorization": "Bearer rota_1_guess"}
        statuses = [client.get("/api", headers=wrong).status_code for _ in range(101)]
        good = client.get("/api", headers=BEARER)
        without = client.get("/api")
        clock.advance(1_000)
        later = client.get("/api", headers=wrong)

    assert statuses == [401] * 100 + [429]
    assert (good.status_code, without.status_code, later.status_code) == (200, 401, 401)


GUESS = {"Authorization": "Bearer rota_1_guess"}


def guess(client: TestClient) -> None:
    """Until nothing that looks like a guess is let through any more."""
    while client.get("/api", headers=GUESS).status_code != 429:
        pass


def test_guessing_does_not_keep_out_those_with_a_good_key(kept: Store) -> None:
    clock = ManualClock()
    api = make_api(kept, clock=clock, options=ServerOptions())
    scopes = SCOPES_OF[Role.VIEWER]
    seen, _ = make_key(kept, "seen", role=Role.VIEWER, scopes=scopes, expires_at=None, now=clock.now())
    unseen, _ = make_key(kept, "unseen", role=Role.VIEWER, scopes=scopes, expires_at=None, now=clock.now())
    with served(api, key=None) as client:

        def status(key: str) -> int:
            return client.get("/api", headers={"Authorization": f"Bearer {key}"}).status_code

        before = status(seen)
        guess(client)
        after = [status(seen), status(unseen), status(KEY)]
        make_key(kept, "another", role=Role.VIEWER, scopes=scopes, expires_at=None, now=clock.now())
        clock.advance(2_001)
        guess(client)
        when_keys_changed = [status(seen), status(unseen), status(KEY)]
        for _ in range(200):
            assert status(seen) == 200
        still_held_up = client.get("/api", headers=GUESS).status_code

    assert before == 200
    assert after == when_keys_changed == [200, 200, 200]
    assert still_held_up == 429, "a good key pays nothing, and earns nothing for who guesses"


@pytest.mark.parametrize("is_configured", [True, False], ids=["in the settings", "hashed in the store"])
def test_a_key_that_could_be_guessed_is_not_found_among_too_many_guesses(kept: Store, is_configured: bool) -> None:
    weak = "chosen"
    clock = ManualClock()
    engine = make_api(kept, clock=clock).engine
    kept.put_setting(SETTING, hash_chosen_key(weak))
    keys = KeyRing(kept, KeyPlan(made=None, configured=weak if is_configured else None, allows_dev_key=False), clock)
    api = Api(engine, keys=keys, health=lambda: None, options=ServerOptions())
    with served(api, key=None) as client:

        def status() -> int:
            return client.get("/api", headers={"Authorization": f"Bearer {weak}"}).status_code

        before = [status() for _ in range(150)]
        guess(client)
        meanwhile = status()
        clock.advance(1_000)
        after = [status() for _ in range(150)]

    assert (set(before), meanwhile, set(after)) == ({200}, 429, {200})


def test_a_good_key_costs_the_address_none_of_its_guesses(kept: Store) -> None:
    clock = ManualClock()
    with served(make_api(kept, clock=clock, options=ServerOptions()), key=None) as client:
        for _ in range(150):
            assert client.get("/api", headers=BEARER).status_code == 200
        statuses = [client.get("/api", headers=GUESS).status_code for _ in range(101)]
        clock.advance(200)
        one_more = [client.get("/api", headers=GUESS).status_code for _ in range(2)]
        clock.advance(3_600_000)
        after_an_hour = [client.get("/api", headers=GUESS).status_code for _ in range(101)]
        refused = client.get("/api", headers=GUESS)

    assert statuses == after_an_hour == [401] * 100 + [429]
    assert one_more == [401, 429]
    assert refused.headers["retry-after"] == "1"
    assert refused.json() == {"status": "error", "error": "too many requests; try again in 0.2 s"}


def test_each_address_guesses_for_itself(kept: Store) -> None:
    api = make_api(kept, clock=ManualClock(), options=ServerOptions())
    app = make_app(api)
    first, second = (TestClient(app, BASE, client=(host, 5)) for host in ("192.0.2.1", "192.0.2.2"))
    guess(first)

    assert second.get("/api", headers=GUESS).status_code == 401
    assert first.get("/api", headers=GUESS).status_code == 429
    api.close()


def test_each_key_has_its_own_rate_whatever_its_address(kept: Store) -> None:
    clock = ManualClock()
    api = make_api(kept, clock=clock, options=ServerOptions(rate_limit=1))
    scopes = SCOPES_OF[Role.VIEWER]
    key, _ = make_key(kept, "other", role=Role.VIEWER, scopes=scopes, expires_at=None, now=clock.now())
    app = make_app(api)
    here, there = (TestClient(app, BASE, client=(host, 5), headers=BEARER) for host in ("192.0.2.1", "192.0.2.2"))
    other = TestClient(app, BASE, client=("192.0.2.1", 5), headers={"Authorization": f"Bearer {key}"})

    assert [client.get("/api").status_code for client in (here, there, here, there)] == [200, 200, 429, 429]
    assert other.get("/api").status_code == 200
    assert here.get("/health").status_code == 200
    assert here.get("/api/nothing").status_code == 429, "also for paths that are not there"
    clock.advance(3_600_000)
    assert [here.get("/api").status_code for _ in range(3)] == [200, 200, 429], "nobody saves up more"
    api.close()


def test_less_than_one_request_per_second_is_a_rate_too(kept: Store) -> None:
    clock = ManualClock()
    with served(make_api(kept, clock=clock, options=ServerOptions(rate_limit=0.1))) as client:
        statuses = [client.get("/api").status_code for _ in range(2)]
        refused = client.get("/api")
        clock.advance(10_000)
        later = client.get("/api").status_code

    assert (statuses, later) == ([200, 429], 200)
    assert refused.headers["retry-after"] == "10"


def test_a_revoked_or_expired_key_is_refused_within_seconds(kept: Store) -> None:
    clock = ManualClock()
    api = make_api(kept, clock=clock)
    viewer = SCOPES_OF[Role.VIEWER]
    short, _ = make_key(kept, "short", role=Role.VIEWER, scopes=viewer, expires_at=clock.now() + 1_000, now=clock.now())
    long, _ = make_key(kept, "long", role=Role.VIEWER, scopes=viewer, expires_at=None, now=clock.now())
    app = make_app(api)
    clients = [TestClient(app, BASE, headers={"Authorization": f"Bearer {key}"}) for key in (short, long)]

    def statuses() -> list[int]:
        return [client.get("/api").status_code for client in clients]

    before = statuses()
    clock.advance(1_000)
    expired = statuses()
    revoke_key(kept, "long")
    clock.advance(2_001)
    revoked = statuses()
    api.close()

    assert (before, expired, revoked) == ([200, 200], [401, 200], [401, 401])
    assert all(key not in str(kept.list_settings("")) for key in (short, long))


def test_the_limit_on_wrong_keys_holds_for_requests_of_the_same_moment(kept: Store) -> None:
    api = make_api(kept, clock=ManualClock(), options=ServerOptions())
    app = make_app(api)

    async def guess_at_once() -> list[int]:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=BASE) as client:
            answers = await asyncio.gather(
                *(client.get("/api", headers={"Authorization": f"Bearer {number}"}) for number in range(300))
            )
        return [answer.status_code for answer in answers]

    found = asyncio.run(guess_at_once())
    api.close()

    assert (found.count(401), found.count(429)) == (100, 200)


def test_what_anybody_may_ask_for_is_made_once(admin: TestClient) -> None:
    first = [admin.get(path).content for path in ("/docs", "/openapi.json")]
    made = [one.cache_info().misses for one in (system._docs, system._document)]

    assert [admin.get(path).content for path in ("/docs", "/openapi.json")] == first
    assert [one.cache_info().misses for one in (system._docs, system._document)] == made
