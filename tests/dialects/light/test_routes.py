"""`/schedulers` over HTTP: what the document says, and a Status for everything that is wrong."""

from collections.abc import Iterator
from typing import Any

import pytest
from msgspec import structs
from starlette.testclient import TestClient

from rota.dialects import registry
from rota.dialects.light.options import SECTION, LightOptions
from rota.engine.access.keys.access import Role, read_scopes
from rota.engine.access.keys.named_keys import make_key
from rota.server import routes
from rota.server.app import make_app
from rota.settings import Settings
from rota.store import Store
from rota.testing import Faults
from tests.server.serving import KEY, make_api, served

pytestmark = pytest.mark.stores("sqlite-file", "redis")

PATH = "/schedulers"
GIVEN: dict[str, Any] = {
    "host": "networknt.com",
    "name": "report",
    "action": "INSERT",
    "frequency": {"timeUnit": "MINUTES", "time": 10},
    "topic": "reports",
    "start": 4_000_000_000_000,
    "data": {"region": "eu"},
}
WANTED = {"host": "networknt.com", "name": "report", "unit": "MINUTES"}


def client_of(store: Store, options: LightOptions | None = None) -> Iterator[TestClient]:
    settings = Settings()
    if options is not None:
        settings = structs.replace(settings, sections={SECTION: options})
    api = make_api(store)
    with served(api, make_app(api, [*routes.ALL, *registry.operations(settings, store)])) as client:
        yield client


@pytest.fixture
def client(store: Store) -> Iterator[TestClient]:
    yield from client_of(store)


def post(client: TestClient, **fields: Any) -> Any:
    body = {field: value for field, value in {**GIVEN, **fields}.items() if value is not ...}
    return client.post(PATH, json=body)


def found(client: TestClient, **query: str) -> list[Any]:
    answer = client.get(PATH, params=WANTED | query)
    assert answer.status_code == 200, answer.text
    definitions: list[Any] = answer.json()
    return definitions


def test_what_was_defined_is_found(client: TestClient) -> None:
    assert post(client).status_code == 200

    assert found(client) == [GIVEN]


def test_all_three_actions_answer_200(client: TestClient) -> None:
    for action in ("INSERT", "UPDATE", "DELETE"):
        answer = post(client, action=action)
        assert (answer.status_code, answer.json()["action"]) == (200, action)

    assert found(client) == []


def test_a_host_sees_its_own_definitions(client: TestClient) -> None:
    post(client, host="a.com")

    assert found(client) == []
    assert len(found(client, host="a.com")) == 1


def test_a_definition_is_found_in_its_unit_only(client: TestClient) -> None:
    post(client)
    post(client, action="UPDATE", frequency={"timeUnit": "DAYS", "time": 1})

    assert found(client) == []
    assert len(found(client, unit="DAYS")) == 1


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"host": ...}, "host"),
        ({"name": ...}, "name"),
        ({"topic": ...}, "topic"),
        ({"action": "UPSERT"}, "action"),
        ({"frequency": {"timeUnit": "WEEKS", "time": 1}}, "frequency.timeUnit"),
        ({"frequency": {"timeUnit": "DAYS", "time": 0}}, "frequency.time"),
        ({"data": {"size": 5}}, "data.size"),
        ({"start": "soon"}, "start"),
    ],
)
def test_bad_input_is_a_400_that_names_it_and_nothing_is_kept(
    client: TestClient, store: Store, fields: dict[str, Any], named: str
) -> None:
    answer = post(client, **fields)

    assert answer.status_code == 400
    status = answer.json()
    assert list(status) == ["statusCode", "code", "message", "description"]
    assert (status["statusCode"], status["code"]) == (400, "ERR11000")
    assert status["description"].startswith(f"{named}: ")
    assert store.list_schedules(limit=9).entries == []
    assert store.list_topics(limit=9) == []


@pytest.mark.parametrize("body", ["", "[]", "{", "null", '"text"'])
def test_a_body_that_is_no_definition_is_a_400(client: TestClient, body: str) -> None:
    answer = client.post(PATH, content=body, headers={"Content-Type": "application/json"})

    assert (answer.status_code, answer.json()["code"]) == (400, "ERR11000")


def test_a_form_is_refused(client: TestClient) -> None:
    answer = client.post(PATH, content="host=a", headers={"Content-Type": "text/plain"})

    assert (answer.status_code, answer.json()["code"]) == (415, "ERR11000")


@pytest.mark.parametrize("action", ["UPDATE", "DELETE"])
def test_to_change_nothing_is_a_404(client: TestClient, store: Store, action: str) -> None:
    answer = post(client, action=action)

    assert answer.status_code == 404
    status = answer.json()
    assert (status["statusCode"], status["code"], status["message"]) == (404, "ERR11637", "OBJECT_NOT_FOUND")
    assert "networknt.com report" in status["description"]
    assert store.list_schedules(limit=9).entries == []


@pytest.mark.parametrize("missing", ["host", "name", "unit"])
def test_every_parameter_is_needed(client: TestClient, missing: str) -> None:
    query = {name: value for name, value in WANTED.items() if name != missing}

    answer = client.get(PATH, params=query)

    assert answer.status_code == 400
    assert answer.json()["description"] == f"{missing}: is missing"


@pytest.mark.parametrize("query", [{"unit": "WEEKS"}, {"unit": ""}, {"host": ""}, {"name": ""}])
def test_a_parameter_that_means_nothing_is_a_400(client: TestClient, query: dict[str, str]) -> None:
    answer = client.get(PATH, params=WANTED | query)

    assert answer.status_code == 400
    assert answer.json()["description"].startswith(next(iter(query)))


def names(client: TestClient, **query: str) -> list[str]:
    return [f"{one['host']} {one['name']}" for one in client.get(PATH, params=query).json()]


def test_a_setting_makes_the_parameters_optional(store: Store) -> None:
    for client in client_of(store, LightOptions(optional_parameters=True)):
        for host in ("a.com", "b.com"):
            for name in ("x", "y"):
                post(client, host=host, name=name)

        assert names(client) == ["a.com x", "a.com y", "b.com x", "b.com y"]
        assert names(client, host="b.com") == ["b.com x", "b.com y"]
        assert names(client, name="x", unit="MINUTES") == ["a.com x", "b.com x"]
        assert names(client, unit="DAYS") == []
        assert client.get(PATH, params={"unit": "WEEKS"}).status_code == 400


@pytest.mark.parametrize(
    ("scope", "statuses"), [("sched:w", (200, 403)), ("sched:r", (403, 200)), ("jobs:w", (403, 403))]
)
def test_a_key_needs_the_scope(store: Store, client: TestClient, scope: str, statuses: tuple[int, int]) -> None:
    scopes = read_scopes([scope], Role.ADMIN)
    key, _ = make_key(store, "some", role=Role.ADMIN, scopes=scopes, expires_at=None, now=1)
    client.headers["Authorization"] = f"Bearer {key}"

    answers = (post(client), client.get(PATH, params=WANTED))

    assert tuple(answer.status_code for answer in answers) == statuses
    for answer in answers:
        if answer.status_code == 403:
            assert (answer.json()["statusCode"], answer.json()["code"]) == (403, "ERR10005")


def test_without_a_key_it_is_a_401(client: TestClient) -> None:
    client.headers["Authorization"] = f"Bearer {KEY}x"

    answer = post(client)

    assert (answer.status_code, answer.json()["code"]) == (401, "ERR10000")


def test_a_store_that_is_away_is_a_503_that_says_when_to_try_again(store: Store) -> None:
    faults = Faults(store)
    for client in client_of(faults.store):
        assert post(client).status_code == 200  # so that the key is known

        faults.cut_off()
        answer = post(client)
        faults.reconnect()

        assert (answer.status_code, answer.json()["statusCode"]) == (503, 503)
        assert answer.headers["Retry-After"] == "1"
        assert found(client) == [GIVEN]


def test_the_api_documents_the_two_operations_as_the_seed_does(client: TestClient) -> None:
    document = client.get("/openapi.json").json()
    path = document["paths"][PATH]

    assert {method: one["operationId"] for method, one in path.items()} == {
        "post": "sendScheduleTask",
        "get": "getScheduleTaskDefinitions",
    }
    ref = {"$ref": "#/components/schemas/TaskDefinition"}
    assert path["post"]["requestBody"] == {"required": True, "content": {"application/json": {"schema": ref}}}
    assert [(one["name"], one["in"], one["required"]) for one in path["get"]["parameters"]] == [
        ("host", "query", True),
        ("name", "query", True),
        ("unit", "query", True),
    ]
    answer = path["get"]["responses"]["200"]["content"]["application/json"]["schema"]
    assert answer == {"type": "array", "items": ref}
    for one in path.values():
        schema = one["responses"]["400"]["content"]["application/json"]["schema"]
        assert schema == {"$ref": "#/components/schemas/Status"}
    assert list(document["components"]["schemas"]["Status"]["properties"]) == [
        "statusCode",
        "code",
        "message",
        "description",
    ]
    assert "`sched:w`" in path["post"]["description"]
    assert "`sched:r`" in path["get"]["description"]
