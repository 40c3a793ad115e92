"""Signing in: who is let in, what the browser keeps, and what a session may do."""

import asyncio
import re
from urllib.parse import parse_qs, urlsplit

import pytest
from starlette.datastructures import Headers
from starlette.testclient import TestClient

from rota.clock import ManualClock
from rota.engine.access.keys.access import ADMIN, Role
from rota.engine.access.keys.named_keys import revoke_key
from rota.model.ids import new_id
from rota.model.job_type import JobType
from rota.server.api import Api, ServerOptions
from rota.server.app import make_app
from rota.server.endpoint import is_still_good
from rota.store import Store
from rota.testing.faults import Faults
from tests.server.pages.visiting import HTML, OWN_PAGE, key_of, signed_in
from tests.server.serving import BASE, KEY, make_api

NEW_JOB = {"job_type": "report"}


@pytest.fixture(autouse=True)
def job_type(api: Api) -> None:
    api.engine.definitions.define_job_type(JobType(uuid=new_id(api.engine.clock.now()), name="report", executor="log"))


def stranger(admin: TestClient) -> TestClient:
    return TestClient(admin.app, BASE, follow_redirects=False, headers=HTML)


def test_a_stranger_is_asked_for_a_key_and_then_gets_what_they_wanted(admin: TestClient) -> None:
    browser = stranger(admin)
    asked = browser.get("/jobs?q=state:failed")
    target = urlsplit(asked.headers["location"])
    form = browser.get(asked.headers["location"])

    then = parse_qs(target.query)["then"][0]
    answer = browser.post("/sign-in", data={"key": KEY, "then": then}, headers=OWN_PAGE)

    assert (asked.status_code, target.path, then) == (303, "/sign-in", "/jobs?q=state:failed")
    assert 'value="/jobs?q=state:failed"' in form.text
    assert (answer.status_code, answer.headers["location"]) == (303, "/jobs?q=state:failed")
    assert browser.get("/jobs").status_code == 200


@pytest.mark.parametrize("path", ["/topics/a%2Fb", "/topics/a%3Fb?offset=3", "/topics/%25", "/topics/%C3%A4%20b"])
def test_whatever_the_name_signing_in_leads_to_the_page_that_was_wanted(admin: TestClient, path: str) -> None:
    browser = stranger(admin)
    asked = browser.get(path)

    then = parse_qs(urlsplit(asked.headers["location"]).query)["then"][0]
    answer = browser.post("/sign-in", data={"key": KEY, "then": then}, headers=OWN_PAGE)

    assert (asked.status_code, then) == (303, path)
    assert (answer.status_code, answer.headers["location"]) == (303, path)


def test_a_session_cannot_be_looked_at_while_the_store_does_not_answer(kept: Store) -> None:
    faults = Faults(kept)
    api = make_api(faults.store)
    faults.cut_off()
    with TestClient(make_app(api), BASE, headers={**HTML, "Cookie": "rota_session_80=admin.9.a"}) as client:
        page = client.get("/jobs")
        others = [client.get(path) for path in (f"/jobs/{new_id(1)}/log.txt", "/live?at=/jobs", "/api/jobs")]
        faults.reconnect()
    api.close()

    assert page.status_code == 503
    assert "cut off" in page.text
    assert page.headers["content-security-policy"]
    assert [one.status_code for one in others] == [503, 503, 503]


def test_the_cookie_is_of_no_use_to_scripts_other_sites_and_other_ports(admin: TestClient) -> None:
    answer = stranger(admin).post("/sign-in", data={"key": KEY}, headers=OWN_PAGE)
    name, _, rest = answer.headers["set-cookie"].partition("=")

    assert re.fullmatch(r"rota_session_\d+", name)
    assert rest.split("; ")[1:] == ["HttpOnly", "Max-Age=43200", "Path=/", "SameSite=strict"]
    assert KEY not in answer.headers["set-cookie"]


@pytest.mark.parametrize("base", ["https://127.0.0.1", "http://127.0.0.1"])
def test_over_https_the_cookie_is_secure(api: Api, base: str) -> None:
    headers = {} if base.startswith("https") else {"X-Forwarded-Proto": "https"}
    with TestClient(make_app(api), base, follow_redirects=False) as client:
        answer = client.post("/sign-in", data={"key": KEY}, headers={"Origin": base, **headers})

    assert "Secure" in answer.headers["set-cookie"]
    api.close()


def test_a_wrong_key_is_told_so_and_opens_nothing(admin: TestClient) -> None:
    browser = stranger(admin)
    for key in ("wrong", "", "rota_0123456789ab_guess"):
        answer = browser.post("/sign-in", data={"key": key}, headers=OWN_PAGE)
        assert answer.status_code == 401
        assert "set-cookie" not in answer.headers
    assert browser.get("/jobs").status_code == 303


def test_guessing_is_held_up_as_everywhere(kept: Store) -> None:
    api = make_api(kept, clock=ManualClock(), options=ServerOptions())
    with TestClient(make_app(api), BASE) as client:
        statuses = [client.post("/sign-in", data={"key": "guess"}, headers=OWN_PAGE).status_code for _ in range(101)]

    assert statuses == [401] * 100 + [429]
    api.close()


@pytest.mark.parametrize("then", ["https://evil.example", "//evil.example", "/\\evil.example", "evil", "/a\r\nb: c"])
def test_signing_in_leads_nowhere_else(admin: TestClient, then: str) -> None:
    answer = stranger(admin).post("/sign-in", data={"key": KEY, "then": then}, headers=OWN_PAGE)

    assert (answer.status_code, answer.headers["location"]) == (303, "/")


def test_a_form_of_another_site_signs_nobody_in(admin: TestClient) -> None:
    for headers in ({"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
        answer = stranger(admin).post("/sign-in", data={"key": KEY}, headers=headers)
        assert answer.status_code == 403
        assert "set-cookie" not in answer.headers


def test_a_form_is_bounded(admin: TestClient) -> None:
    assert stranger(admin).post("/sign-in", data={"key": "x" * 9000}, headers=OWN_PAGE).status_code == 413


def test_a_session_does_what_its_key_may_and_only_from_our_own_pages(admin: TestClient, kept: Store) -> None:
    with signed_in(admin, key_of(kept, Role.OPERATOR)) as browser:

        def status(headers: dict[str, str], path: str = "/api/jobs", body: object = NEW_JOB) -> int:
            return browser.post(path, json=body, headers=headers).status_code

        assert browser.get("/api/jobs").status_code == 200
        assert status(OWN_PAGE) == 200
        assert status({"Sec-Fetch-Site": "same-origin"}) == 200
        assert status({}) == 403, "who says nothing is no page"
        assert status({"Sec-Fetch-Site": "none"}) == 403
        assert status({"Origin": "https://evil.example"}) == 403
        assert status({"Origin": "null"}) == 403
        assert status({"Sec-Fetch-Site": "same-site"}) == 403
        assert browser.delete("/api/jobs/01890a5d-ac96-774b-bcce-b302099a8057").status_code == 403
        new_type = {"name": "more", "executor": "log"}
        assert status(OWN_PAGE, "/api/job_types", new_type) == 403, "an operator defines nothing"


def test_a_session_is_of_no_use_to_other_ports_and_names_of_an_allowed_host(kept: Store) -> None:
    api = make_api(kept, options=ServerOptions(wrong_keys_per_s=0, allowed_hosts=("rota.internal", "*.internal")))
    with TestClient(make_app(api), "http://rota.internal", headers={"Host": "rota.internal"}) as client:
        begun = client.post("/sign-in", data={"key": KEY}, headers={"Origin": "http://rota.internal"})
        cookie = {"Cookie": begun.history[0].headers["set-cookie"].partition(";")[0]}
        client.cookies.clear()

        def status(**headers: str) -> int:
            sent = {name.replace("_", "-"): value for name, value in headers.items()}
            return client.post("/api/jobs", json=NEW_JOB, headers=cookie | sent).status_code

        for origin in ("http://rota.internal:8080", "http://evil.internal", "https://evil.internal:99"):
            assert status(Origin=origin) == 403, origin
            assert status(Origin=origin, Sec_Fetch_Site="same-site") == 403, origin
        assert status(Origin="http://rota.internal") == 200
        assert status(Origin="https://ROTA.internal", Sec_Fetch_Site="same-origin") == 200
        assert status(Origin="https://other.internal", Sec_Fetch_Site="same-origin") == 200, "a proxy changed Host"
    api.close()


def test_a_viewers_session_changes_nothing(admin: TestClient, kept: Store) -> None:
    with signed_in(admin, key_of(kept, Role.VIEWER)) as browser:
        assert browser.get("/api/jobs").status_code == 200
        assert browser.post("/api/jobs", json=NEW_JOB, headers=OWN_PAGE).status_code == 403
        assert admin.get("/api/jobs").json()["jobs"] == []


def test_what_a_session_changes_is_recorded_as_its_keys(admin: TestClient, kept: Store) -> None:
    with signed_in(admin, key_of(kept, Role.OPERATOR, name="grace")) as browser:
        browser.post("/api/node_types/default/pause", json={}, headers=OWN_PAGE)

    (change,) = [one for one in admin.get("/api/audit").json()["changes"] if one["action"] == "pause"]
    assert change["who"] == "grace"


def test_a_key_that_is_shown_counts_and_no_session_beside_it(admin: TestClient) -> None:
    with signed_in(admin, KEY) as browser:
        for wrong in ("Bearer wrong", "Basic eHh4", "Bearer "):
            assert browser.get("/api/jobs", headers={"Authorization": wrong}).status_code == 401, wrong


def test_a_session_ends_within_seconds_after_its_key(kept: Store) -> None:
    clock = ManualClock()
    api = make_api(kept, clock=clock)
    with (
        TestClient(make_app(api), BASE) as client,
        signed_in(client, key_of(kept, Role.VIEWER, name="eve")) as browser,
    ):
        assert browser.get("/jobs").status_code == 200
        revoke_key(kept, "eve")
        clock.advance(2_001)
        assert browser.get("/jobs").status_code == 303
        assert browser.get("/api/jobs").status_code == 401
    api.close()


def test_a_session_ends_after_its_time(kept: Store) -> None:
    clock = ManualClock()
    api = make_api(kept, clock=clock)
    with TestClient(make_app(api), BASE) as client, signed_in(client, KEY) as browser:
        session = {"Cookie": "; ".join(f"{name}={value}" for name, value in browser.cookies.items())}
        clock.advance(12 * 3_600_000)
        assert client.get("/api/jobs", headers=session).status_code == 401
    api.close()


def test_signing_out_takes_a_page_of_this_server(admin: TestClient) -> None:
    with signed_in(admin, KEY) as browser:
        assert browser.get("/sign-out").status_code == 405
        assert browser.post("/sign-out").status_code == 405
        assert browser.get("/jobs").status_code == 200
        assert browser.post("/sign-out", headers=OWN_PAGE).status_code == 303
        assert browser.get("/jobs").status_code == 303


ODD_COOKIES = [
    "x=1",
    "rota_session_1=a.b.c",
    "=;;;",
    "rota_session_1",
    'a="\x01',
    "rota_session_9=" + "y" * 9_000,
    'prefs={"a":1}',
    "a b",
    "path=/",
    "; ".join(f"rota_session_{port}=admin.999999999999999.{port}" for port in range(8000, 8040)),
]


@pytest.mark.parametrize("odd", ODD_COOKIES)
def test_cookies_of_others_do_no_harm(admin: TestClient, api: Api, odd: str) -> None:
    with signed_in(admin, KEY) as browser:
        ((name, session),) = browser.cookies.items()
    good = f"{name}={session}"
    for cookie, expected in ((odd, 401), (f"{odd}; {good}", 200), (f"{good}; {odd}", 200)):
        answer = TestClient(admin.app, BASE).get("/api/jobs", headers={"Cookie": cookie})
        assert answer.status_code == expected, cookie
    stayed = is_still_good(api, Headers({"Cookie": f"{odd}; {good}"}), ADMIN)
    assert asyncio.run(stayed), "a stream goes on, too"
    assert not asyncio.run(is_still_good(api, Headers({"Cookie": odd}), ADMIN))


def test_a_session_of_another_port_counts_for_one_server_behind_several_names(admin: TestClient) -> None:
    with signed_in(admin, KEY) as browser:
        ((_, session),) = browser.cookies.items()
    answer = TestClient(admin.app, BASE).get("/api/jobs", headers={"Cookie": f"rota_session_9999={session}"})
    assert answer.status_code == 200


def test_no_key_stands_in_an_answer(admin: TestClient, kept: Store) -> None:
    secret = kept.list_settings("")
    with signed_in(admin, KEY) as browser:
        for path in ("/", "/jobs", "/audit", "/api/audit"):
            text = browser.get(path).text
            assert KEY not in re.sub(r"chosen</?", "", text.replace("data-chosen", "")).split()
            assert not [value for name, value in secret.items() if "hash" in name and value in text]
