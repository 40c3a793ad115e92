"""The client's verbs of events and configurations, and what `help` says of every verb."""

import inspect
import pydoc
from collections.abc import Iterator

import pytest

from rota.errors import InvalidInput, NotFound
from rota.sdk.client import AsyncClient, Client, PagedVerb, Verb, Verbs
from rota.sdk.shapes import Enqueued
from rota.server.app import make_app
from rota.store import open_store
from tests.sdk.serving import Cutting, serving
from tests.server.serving import KEY, make_api

FILE = {"type": "FILE", "resourceId": "/in/", "lifeDuration": 60}
HOUR = {"type": "TIME_BASED", "resourceId": "hour", "lifeDuration": 0}


@pytest.fixture
def client() -> Iterator[Client]:
    store = open_store("sqlite://:memory:")
    api = make_api(store)
    with serving(Cutting(make_app(api))) as url, Client(url, key=KEY) as client:
        yield client
    api.close()
    store.close()


def test_configurations_are_defined_found_changed_and_removed(client: Client) -> None:
    made = client.create_configuration("Hourly (EU)", [FILE, HOUR], late="join")
    client.create_configuration("other", [FILE])

    changed = client.replace_configuration("Hourly (EU)", [FILE])

    assert (made.name, made.late, len(made.dependencies)) == ("Hourly (EU)", "join", 2)
    assert (changed.uuid, len(changed.dependencies)) == (made.uuid, 1)
    assert [one.name for one in client.configurations()] == ["Hourly (EU)", "other"]
    assert client.get_configuration("other").name == "other"
    assert client.delete_configuration("Hourly (EU)") == made.uuid
    with pytest.raises(NotFound):
        client.get_configuration("Hourly (EU)")


def test_events_are_posted_one_by_one_and_in_lists(client: Client) -> None:
    client.create_configuration("hourly", [FILE, HOUR])
    event = {"eventType": "FILE", "eventResourceId": "/in/b", "eventTimestamp": "2021-01-01T12:00:01Z"}

    first = client.post_event("FILE", "/in/a", "2021-01-01T12:00:00Z", event_id="a")
    many = client.post_events([event, {**event, "eventType": "x"}])
    would = client.preview_event("TIME_BASED", "hour", "2021-01-01T12:00:30Z")
    made = client.post_event("TIME_BASED", "hour", "2021-01-01T12:00:30Z")

    assert [one["configuration"] for one in first.validated] == ["hourly"]
    assert ([one["event"] for one in many.validated], [one["event"] for one in many.failed]) == ([0], [1])
    assert [one["verdict"] for one in would] == ["triggered"]
    assert [one["configuration"] for one in made.triggered] == ["hourly"]
    assert "hourly fired on TIME_BASED hour" in client.explain_configuration("hourly").explanation
    with pytest.raises(InvalidInput):
        client.post_event("FILE", "/in/a", "soon")


def verbs() -> list[str]:
    return [name for name, one in vars(Verbs).items() if isinstance(one, Verb | PagedVerb)]


@pytest.mark.parametrize("name", verbs())
def test_help_shows_the_arguments_and_words_of_every_verb(client: Client, name: str) -> None:
    verb = getattr(client, name)
    shown = inspect.signature(verb)

    assert verb.__name__ == name
    assert verb.__doc__
    assert "args" not in shown.parameters
    assert "Call" not in str(shown.return_annotation)


def test_the_signature_of_enqueue_is_its_own(client: Client) -> None:
    shown = inspect.signature(client.enqueue)

    assert list(shown.parameters)[:3] == ["job_type", "arguments", "priority"]
    assert shown.return_annotation is Enqueued
    helped = pydoc.plain(pydoc.render_doc(client.enqueue))  # from Python 3.13 on with a line for each parameter
    assert "enqueue(job_type:str,arguments:" in "".join(helped.split())
    assert inspect.signature(AsyncClient("http://127.0.0.1:1", key="k").enqueue) == shown
