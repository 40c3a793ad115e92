"""Every page, for everybody who may see it: what it shows, to whom, and that nothing on it is more than text."""

import re
from html import unescape
from html.parser import HTMLParser
from urllib.parse import parse_qs, quote, urlencode, urlsplit

import msgspec
import pytest
from starlette.testclient import TestClient

from rota.engine.access.keys.access import Role
from rota.model.ids import new_id
from rota.model.job import JobState
from rota.model.node import NodeType
from rota.server.api import Api, ServerOptions
from rota.server.app import make_app
from rota.server.pages.finding.search import read_search
from rota.server.pages.sitemap import NAVIGATION, PAGES
from rota.store import Store
from rota.testing import Faults
from tests.server.auth.test_authorisation import PAGES as RIGHTS
from tests.server.auth.test_authorisation import SCOPES
from tests.server.pages.visiting import HTML, done, furnish, key_of, log_more, signed_in
from tests.server.serving import BASE, make_api, served

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "'onmouseover='alert(1)",
    "{{ 7 * 7 }}{% include 'base.html' %}",
    "javascript:alert(1)",
    "\u202etxt.exe\u2066\u200f",
    "</pre></td></table><form action=//evil.example>",
    "hx-get=/sign-out data-call='POST /api/jobs/cancel'",
]


class Tags(HTMLParser):
    """What of a page is markup."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]


def test_every_page_is_visited_here(admin: TestClient, api: Api) -> None:
    shown = furnish(admin, api).paths

    assert {page.path for page in PAGES} <= {path.partition(" ")[0] for path in shown}
    for declared, path in shown.items():
        answer = admin.get(path, headers=HTML)
        assert answer.status_code == 200, (declared, answer.text)
        assert answer.headers["content-security-policy"] == POLICY
        assert answer.headers["cache-control"] == "no-store"


def test_every_page_without_anything_to_show_says_what_to_do(admin: TestClient) -> None:
    for entry in NAVIGATION:
        assert admin.get(entry.path, headers=HTML).status_code == 200, entry.path
    assert "rota enqueue" in admin.get("/jobs", headers=HTML).text
    assert "rota schedule create" in admin.get("/schedules", headers=HTML).text


@pytest.mark.parametrize(
    ("search", "current"),
    [("", "all"), ("words", "all"), ("state:queued words", "queued"), ("state:queued,failed", None)],
)
def test_of_the_states_only_the_one_that_is_searched_for_is_marked(
    admin: TestClient, search: str, current: str | None
) -> None:
    page = admin.get("/jobs", params={"q": search}, headers=HTML).text

    tabs = re.findall(r'<a href="/jobs\?q=[^"]*"( aria-current="true")?>(\w+)', page)
    assert [name for _, name in tabs] == ["all", *JobState]
    assert [name for marked, name in tabs if marked] == ([current] if current else [])


@pytest.mark.parametrize("search", ["type:nowhere", "queue:nowhere", "schedule:nowhere"])
def test_a_search_for_what_there_is_not_says_so_beside_what_was_typed(admin: TestClient, search: str) -> None:
    answer = admin.get("/jobs", params={"q": search}, headers=HTML)

    assert answer.status_code == 200
    assert re.search(r'role="alert">[^<]*nowhere', answer.text)
    assert f'value="{search}"' in answer.text


@pytest.mark.parametrize("hostile", HOSTILE)
def test_hostile_words_are_only_text_on_every_page(admin: TestClient, api: Api, hostile: str) -> None:
    plain = {
        path: Tags(admin.get(path, headers=HTML).text) for path in furnish(admin, api, "plain", "plain").paths.values()
    }
    wanted = furnish(admin, api, f"x{hostile}" if hostile.isprintable() else "turned", hostile).paths
    plain_tags = {tag for page in plain.values() for tag in page.tags}

    for declared, path in wanted.items():
        page = admin.get(path, headers=HTML)
        assert page.status_code == 200, (declared, page.text)
        found = Tags(page.text)
        assert set(found.tags) <= plain_tags | {"pre"}, declared
        assert not [one for one in found.attributes if one[1].startswith("on") or one[1] == "style"], declared
        links = [value for _, name, value in found.attributes if name in ("href", "src", "action")]
        assert not [link for link in links if not re.match(r"[/#]([^/\\]|$)", link)], declared
        assert "<script>alert" not in page.text
        assert not re.search("[\u202a-\u202e\u2066-\u2069\u200e\u200f]", page.text), declared
        called = [value for _, name, value in found.attributes if name in ("data-call", "hx-get", "data-then")]
        assert not [one for one in called if hostile in one], declared


def test_what_a_form_has_is_what_it_was_given(admin: TestClient, api: Api) -> None:
    text = '\U0001f468\u200d\U0001f469 \u0646\u0645\u06cc\u200c\u062e \\u200d "&lt;'
    shown = furnish(admin, api, text=text).paths

    for path in (shown["/enqueue"], shown["/schedules/{schedule}/edit"]):
        (written,) = re.findall("<textarea[^>]*>([^<]*)</textarea>", admin.get(path, headers=HTML).text)
        assert msgspec.json.decode(unescape(written)) == {text: text}, path
        assert "\\u200d" in written, "one who edits it sees it"
    for path in (shown["/enqueue"], f"/jobs?{urlencode({'q': text})}", f"/audit?{urlencode({'name': text})}"):
        page = admin.get(path, headers=HTML).text
        assert ("input", "value", text) in Tags(page).attributes, path
        assert not re.search("[\u200b-\u200f]", page), path
    listed = Tags(admin.get("/jobs?q=%E2%80%8D", headers=HTML).text).attributes
    assert {value for _, name, value in listed if name == "data-filter"} == {'{"search":"\\u200d"}'}


def test_a_viewer_sees_all_pages_and_nothing_to_press(admin: TestClient, api: Api, kept: Store) -> None:
    shown = furnish(admin, api).paths
    with signed_in(admin, key_of(kept, Role.VIEWER)) as browser:
        for declared, path in shown.items():
            answer = browser.get(path)
            needed = RIGHTS[declared.partition(" ")[0]]
            assert answer.status_code == (403 if needed.endswith(":w") or needed == "audit:r" else 200), declared
            for word in ("data-call", "data-bulk", "/enqueue", "/schedules/new", "data-choose"):
                assert word not in answer.text, (declared, word)


def keys_by_what_they_lack(kept: Store) -> dict[str, str]:
    """One for each scope, with all others. Made before the server is first asked: it reads its keys so often only."""
    return {
        lacking: key_of(kept, Role.ADMIN, *(one for one in SCOPES if one != lacking), name=f"all-but-{lacking}")
        for lacking in SCOPES
    }


def test_a_page_is_refused_to_those_who_lack_what_it_needs_and_shown_to_all_others(
    admin: TestClient, api: Api, kept: Store
) -> None:
    keys = keys_by_what_they_lack(kept)
    shown = furnish(admin, api).paths
    app = make_app(api)
    for lacking, key in keys.items():
        client = TestClient(app, BASE, headers={"Authorization": f"Bearer {key}", **HTML})
        for declared, path in shown.items():
            needed = RIGHTS[declared.partition(" ")[0]]
            is_reader_too = declared.endswith("/edit") and lacking == needed.replace(":w", ":r")
            is_cloned = lacking == "jobs:r" and declared == "/enqueue"
            expected = 403 if lacking == needed or is_reader_too or is_cloned else 200
            assert client.get(path).status_code == expected, (declared, lacking)


def test_a_stream_and_a_log_are_refused_to_those_who_lack_what_their_page_needs(kept: Store) -> None:
    api = make_api(kept, options=ServerOptions(rate_limit=0, wrong_keys_per_s=0, max_followers=1))
    api.seats.take("somebody")
    keys = keys_by_what_they_lack(kept)
    with served(api) as admin:
        shown = furnish(admin, api).paths
        streams = {page.path: f"/live?at={quote(shown[page.path])}" for page in PAGES if page.parts}
        log = ("/jobs/{uuid}", f"{shown['/jobs/{uuid}']}/log.txt")
        for lacking, key in keys.items():
            client = TestClient(admin.app, BASE, headers={"Authorization": f"Bearer {key}"})
            for declared, path in (*streams.items(), log):
                # All seats are taken: whoever may follow is told so, before anything is sent.
                expected = 403 if lacking == RIGHTS[declared] else 503
                assert client.get(path).status_code == expected, (path, lacking)


def test_every_page_says_what_it_needs(admin: TestClient, api: Api) -> None:
    for page in PAGES:
        assert page.needs or page.path == "/palette", page.path  # it asks for each thing that it offers
        assert set(page.needs) <= set(api.operations_by_name), page.path


def test_a_link_to_the_jobs_of_a_name_finds_them_whatever_is_in_it(admin: TestClient, api: Api) -> None:
    name = 'the "best" \\ report'
    done(admin.post("/api/job_types", json={"name": name, "executor": "log"}))
    api.engine.definitions.define_node_type(NodeType(uuid=new_id(1), name=name))
    done(admin.post("/api/jobs", json={"job_type": name}))
    job_type = next(one for one in admin.get("/api/job_types").json()["job_types"] if one["name"] == name)

    links: list[str] = []
    for path in (f"/job-types/{job_type['uuid']}", "/queues"):
        attributes = Tags(admin.get(path, headers=HTML).text).attributes
        links += [value for _, kind, value in attributes if kind == "href" and "best" in value and "q=" in value]

    searched = [read_search(parse_qs(urlsplit(link).query)["q"][0], 1).conditions for link in links]
    assert {"job_type": name} in searched
    assert {"queue": name} in searched


def test_the_queues_say_why_nothing_of_them_begins(admin: TestClient, api: Api) -> None:
    assert "rota worker --node-type default" in admin.get("/queues", headers=HTML).text
    furnish(admin, api)
    assert "1 node with 16 slots" in admin.get("/queues", headers=HTML).text
    queue = api.engine.definitions.node_type("default").uuid
    admin.post(f"/api/node_types/{queue}/pause", json={})
    assert "rota queues resume default" in admin.get("/queues", headers=HTML).text


def test_the_navigation_has_what_a_key_may_see(admin: TestClient, kept: Store) -> None:
    with signed_in(admin, key_of(kept, Role.VIEWER, "jobs:r")) as browser:
        page = browser.get("/jobs").text

    found = re.findall(r'<a href="([^"]+)" data-key', page)
    assert found == ["/jobs"]


def test_a_page_that_is_not_there_says_so_in_the_layout(admin: TestClient) -> None:
    for path, status in (
        ("/jobs/01890a5d-ac96-774b-bcce-b302099a8057", 404),
        ("/jobs/nonsense", 400),
        ("/schedules/nowhere", 404),
        ("/topics/nowhere", 404),
        ("/jobs?cursor=nonsense", 200),
    ):
        answer = admin.get(path, headers=HTML)
        assert answer.status_code == status, path
        assert "<nav" in answer.text
        assert answer.headers["content-security-policy"] == POLICY


@pytest.mark.parametrize(("letters", "shown"), [(16_000, 16), (10, 500)])
def test_a_page_shows_the_end_of_a_log_within_bounds(admin: TestClient, api: Api, letters: int, shown: int) -> None:
    path = furnish(admin, api).paths["/jobs/{uuid}"]
    log_more(api, path.rpartition("/")[2], [f"{number} ".ljust(letters, "x") for number in range(598)])

    page = admin.get(path, headers=HTML).text

    assert page.count('class="said"') == shown
    assert '<span class="said">597 x' in page
    assert f"The last {shown} of 600 lines" in page
    assert 'data-next="600"' in page, "the stream goes on behind the end"


def test_a_page_is_only_looked_at(admin: TestClient) -> None:
    for page in PAGES:
        if "{" not in page.path:
            assert admin.post(page.path, json={}, headers=HTML).status_code == 405, page.path


def test_programs_that_open_the_address_are_told_where_to_go(api: Api) -> None:
    with TestClient(make_app(api), BASE) as client:
        answer = client.get("/", headers={"Accept": "*/*"})

    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain")
    assert "/openapi.json" in answer.text
    api.close()


def test_static_files_are_kept_for_good_under_the_hash_of_what_they_are(admin: TestClient) -> None:
    page = admin.get("/", headers=HTML).text
    urls = re.findall(r'(?:src|href)="(/static/[^"]+)"', page)

    assert len(urls) >= 8
    for url in urls:
        answer = TestClient(admin.app, BASE).get(url)
        assert answer.status_code == 200, url
        assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
        assert answer.headers["content-type"].split(";")[0] in ("text/css", "text/javascript", "image/svg+xml")
    other = TestClient(admin.app, BASE).get(re.sub(r"/static/\w+/", "/static/0123456789ab/", urls[0]))
    assert (other.status_code, other.headers["cache-control"]) == (200, "no-store")
    for name in ("nothing.js", "..%2f..%2fapi.py", "README.md", "LICENSE.htmx"):
        assert admin.get(f"/static/0/{name}").status_code == 404, name


def test_the_whole_log_is_a_file(admin: TestClient, api: Api) -> None:
    path = furnish(admin, api, text="it said <b>so</b>").paths["/jobs/{uuid}"]

    answer = admin.get(f"{path}/log.txt")

    assert answer.headers["content-type"].startswith("text/plain")
    assert answer.headers["content-disposition"].startswith("attachment")
    assert "info it said <b>so</b>\n" in answer.text
    assert TestClient(admin.app, BASE).get(f"{path}/log.txt").status_code == 401


@pytest.mark.parametrize("what", ["schedules", "configurations"])
def test_a_list_is_shown_although_something_on_it_is_removed_meanwhile(kept: Store, what: str) -> None:
    faults = Faults(kept)
    with served(make_api(faults.store)) as admin:
        done(admin.post("/api/job_types", json={"name": "report", "executor": "log", "metadata": {}}))
        schedule = {"cron": "@daily", "job_type": "report"}
        dependencies = [{"type": "FILE", "resourceId": "/in", "lifeDuration": 60}]
        for name in ("one", "two"):
            done(admin.post("/api/schedules", json={"name": name, **schedule}))
            done(admin.post("/api/configurations", json={"name": name, "dependencies": dependencies}))
        faults.after(f"list_{what}", lambda: done(admin.delete(f"/api/{what}/one")))

        answer = admin.get(f"/{what}", headers=HTML)

        assert answer.status_code == 200, answer.text
        assert "<b>two</b>" in answer.text


@pytest.mark.parametrize("stated", ["0001-01-01T00:00:00", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"])
def test_an_event_of_no_likely_year_hides_no_others(admin: TestClient, stated: str) -> None:
    for timestamp in (stated, "2026-11-16T00:00:00"):
        admin.post("/events", json={"eventType": "FILE", "eventResourceId": "/in", "eventTimestamp": timestamp})

    answer = admin.get("/event-log", headers=HTML)

    assert answer.status_code == 200, answer.text
    assert '<b class="mono">/in</b>' in answer.text
    assert admin.get("/api/events").status_code == 200
