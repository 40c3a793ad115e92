"""Sources and collections over HTTP and in the dashboard: what is shown, to whom, and who may press what."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from rota.dialects import registry
from rota.engine.access.keys.access import Role
from rota.server import routes
from rota.server.app import make_app
from rota.server.pages.sitemap import DASHBOARD
from rota.store import Store, open_store
from rota.testing import Faults
from tests.dialects.sync_tasks.source import YAML as SHOP
from tests.dialects.sync_tasks.source import Shop
from tests.server.pages.visiting import HTML, OWN_PAGE, key_of, signed_in
from tests.server.serving import KEY, make_api, served

ORDERS = "/tasks?source=shop&collection=orders"
YAML = (
    SHOP
    + """
  "<b>bold<b> & co":
    executor: log
    collections: [{name: "<script>alert(1)<script>"}]
"""
)


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Store]:
    store = open_store(f"sqlite:///{tmp_path / 'rota.db'}")
    yield store
    store.close()


@pytest.fixture
def shop(kept: Store, tmp_path: Path) -> Shop:
    return Shop(kept, tmp_path, YAML)


@pytest.fixture
def client(kept: Store, shop: Shop) -> Iterator[TestClient]:
    api = make_api(kept)
    app = make_app(api, [*routes.ALL, *registry.operations(shop.settings, kept)], registry.with_pages(DASHBOARD))
    with served(api, app) as client:
        yield client


def test_collections_come_page_by_page_with_their_schedule_and_latest_tasks(client: TestClient, shop: Shop) -> None:
    jobs = [shop.run().id for _ in range(3)]

    first = client.get("/sources?limit=2&last=2").json()
    second = client.get("/sources", params={"cursor": first["cursor"]}).json()

    names = [(one["source"], one["collection"]) for one in (*first["collections"], *second["collections"])]
    assert names == sorted(names)
    assert names[1:] == [("shop", "orders"), ("shop", "users")]
    orders = first["collections"][1]
    assert {one["job"] for one in orders["tasks"]} <= set(jobs)
    assert [one["status"] for one in orders["tasks"]] == ["SUCCESS", "SUCCESS"]
    assert orders["tasks"][0]["created_at"] >= orders["tasks"][1]["created_at"]
    assert orders["schedule"]["words"] == "every hour"
    assert orders["schedule"]["next"].endswith(":00:00.000000Z")
    assert second["collections"][0]["schedule"] is None
    assert second["cursor"] is None


def test_a_collection_that_is_no_longer_defined_is_shown_as_long_as_its_tasks_are(
    client: TestClient, shop: Shop, kept: Store, tmp_path: Path
) -> None:
    shop.run("users")
    Shop(kept, tmp_path, YAML.replace(", {name: users}", ""))

    assert [one["status"] for one in client.get("/sources/shop/users").json()["tasks"]] == ["SUCCESS"]
    assert client.get("/sources/shop/nothing").status_code == 404
    assert client.get("/sync/shop/nothing", headers=HTML).status_code == 404


def test_schedules_are_told_to_those_who_may_read_them(client: TestClient, kept: Store) -> None:
    only_jobs = {"Authorization": f"Bearer {key_of(kept, Role.VIEWER, 'jobs:r')}"}

    shown = client.get("/sources/shop/orders", headers=only_jobs)

    assert shown.status_code == 200
    assert shown.json()["schedule"] is None
    assert client.get("/sources/shop/orders").json()["schedule"] is not None
    assert client.get("/sync/shop/orders", headers=only_jobs | HTML).status_code == 200


def test_the_screens_are_in_the_navigation_and_say_what_to_do(client: TestClient, shop: Shop) -> None:
    shop.run()

    assert 'href="/sync" data-key="y"' in client.get("/", headers=HTML).text
    page = client.get("/sync", headers=HTML).text
    assert 'href="/sync/shop/orders"' in page
    assert "SUCCESS" in page
    assert "rota sync" in client.get("/sync/shop/users", headers=HTML).text


def test_names_are_only_text(client: TestClient) -> None:
    listed = client.get("/sync", headers=HTML).text
    (strange,) = [one for one in client.get("/sources").json()["collections"] if "bold" in one["source"]]
    one = client.get("/sync/{source}/{collection}".format(**strange), headers=HTML)

    assert one.status_code == 200
    for page in (listed, one.text):
        assert "<b>bold" not in page
        assert "<script>alert" not in page
        assert "&lt;b&gt;bold" in page


def test_a_session_runs_a_collection_and_cancels_it_only_from_our_own_pages(client: TestClient, kept: Store) -> None:
    key = key_of(kept, Role.OPERATOR)
    with signed_in(client, key) as browser:
        page = browser.get("/sync/shop/orders").text
        assert 'data-call="POST /tasks?source=shop&amp;collection=orders"' in page
        assert browser.post(ORDERS).status_code == 403, "nobody says where it comes from"
        assert browser.post(ORDERS, headers={"Origin": "http://evil.example"}).status_code == 403
        made = browser.post(ORDERS, headers=OWN_PAGE)
        assert made.status_code == 201
        again = browser.post(ORDERS, headers=OWN_PAGE)
        assert (again.status_code, again.json()) == (200, made.json())
        task = made.json()["task_id"]
        assert browser.post(f"/tasks/{task}/cancel", headers=OWN_PAGE).status_code == 200
        assert browser.get(f"/tasks/{task}").json()["status"] == "CANCELED"
    (entry,) = [one for one in kept.list_audit(limit=100) if one.action == "cancel"]
    assert entry.who == "operator-key"


def test_a_viewer_sees_everything_and_may_press_nothing(client: TestClient, kept: Store, shop: Shop) -> None:
    shop.tasks.create("shop", "orders")
    with signed_in(client, key_of(kept, Role.VIEWER)) as browser:
        for path in ("/sync", "/sync/shop/orders"):
            page = browser.get(path)
            assert page.status_code == 200
            assert "data-call" not in page.text
        assert browser.post(ORDERS, headers=OWN_PAGE).status_code == 403
        assert browser.get("/sources").status_code == 200


def test_a_session_counts_for_nothing_beside_a_wrong_token(client: TestClient) -> None:
    with signed_in(client, KEY) as browser:
        assert browser.get("/sources").status_code == 200
        assert browser.get("/sources?token=wrong").status_code == 401
        assert browser.get("/sources", headers={"X-Admin-Token": "wrong"}).status_code == 401
        assert browser.get("/sources", headers={"Authorization": "Basic x"}).status_code == 401


def test_a_collection_is_shown_although_its_latest_task_is_forgotten_meanwhile(kept: Store, shop: Shop) -> None:
    job, faults = shop.run(), Faults(kept)
    api = make_api(faults.store)
    app = make_app(api, [*routes.ALL, *registry.operations(shop.settings, kept)], registry.with_pages(DASHBOARD))
    with served(api, app) as client:
        faults.after("list_series", lambda: kept.delete_jobs([job.id]))

        answer = client.get("/sync/shop/orders", headers=HTML)

    assert answer.status_code == 200, answer.text
    assert "It said nothing." in answer.text
