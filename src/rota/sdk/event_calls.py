"""The verbs of configurations and events, as `calls.py` has the others."""

from collections.abc import Mapping, Sequence
from typing import Any

from rota.sdk.call import Call, path_to, present
from rota.sdk.shapes import Configuration, ConfigurationPage, EventAnswer, Explanation, Why

Arguments = Mapping[str, object]


# -- configurations ------------------------------------------------------------------------------------------------


def create_configuration(
    name: str, dependencies: Sequence[Arguments], *, job: Arguments | None = None, **fields: object
) -> Call[Configuration]:
    """Define which events make which job; without a job, a line is written. Further fields: `clock`, `late`."""
    body = _configuration(name, dependencies, job, fields)
    return Call(method="POST", path=path_to("configurations"), answer=Configuration, body=body)


def replace_configuration(
    name: str, dependencies: Sequence[Arguments], *, job: Arguments | None = None, **fields: object
) -> Call[Configuration]:
    """Define a configuration anew. Dependencies that stay as they were keep what is known of them."""
    body = _configuration(name, dependencies, job, fields)
    return Call(method="PUT", path=path_to("configurations", name), answer=Configuration, body=body)


def _configuration(
    name: str, dependencies: Sequence[Arguments], job: Arguments | None, fields: Arguments
) -> dict[str, Any]:
    return {"name": name, "dependencies": list(dependencies), **present({"job": job, **fields})}


def list_configurations(*, limit: int = 100, cursor: str | None = None) -> Call[ConfigurationPage]:
    """A page of configurations, by name. `configurations` walks through all pages."""
    query = present({"limit": limit, "cursor": cursor})
    return Call(method="GET", path=path_to("configurations"), answer=ConfigurationPage, query=query)


def get_configuration(name: str) -> Call[Configuration]:
    """One configuration, by name or uuid."""
    return Call(method="GET", path=path_to("configurations", name), answer=Configuration)


def delete_configuration(name: str) -> Call[str]:
    """Remove a configuration with all that is known of it; gives its uuid. Its jobs stay."""
    return Call(method="DELETE", path=path_to("configurations", name), answer=str, within="uuid")


def explain_configuration(name: str) -> Call[Explanation]:
    """Why a configuration fired or did not, what is missing, and what expires next."""
    return Call(method="GET", path=path_to("configurations", name, "explain"), answer=Explanation)


def why_configuration(name: str) -> Call[Why]:
    """Why a configuration, by name or uuid, has not made a job."""
    return Call(method="GET", path=path_to("configurations", name, "why"), answer=Why)


# -- events --------------------------------------------------------------------------------------------------------


def post_event(
    type: str, resource: str, timestamp: str, *, event_id: str | None = None, outcome: str | None = None
) -> Call[EventAnswer]:
    """Tell that something happened to a resource, at a time in ISO 8601. An id makes repeated deliveries one."""
    body = _event(type, resource, timestamp, event_id, outcome)
    return Call(method="POST", path="/events", answer=EventAnswer, body=body)


def post_events(events: Sequence[Arguments]) -> Call[EventAnswer]:
    """Tell of many events, in the words of the event specification; each is taken or refused for itself."""
    return Call(method="POST", path="/events", answer=EventAnswer, body=list(events))


def preview_event(
    type: str, resource: str, timestamp: str, *, event_id: str | None = None, outcome: str | None = None
) -> Call[list[dict[str, Any]]]:
    """What an event would do if it came now, for each configuration that it matches. Nothing is stored."""
    body = _event(type, resource, timestamp, event_id, outcome)
    path = path_to("events", "dry_run")
    return Call(method="POST", path=path, answer=list[dict[str, Any]], within="evaluations", body=body)


def _event(type: str, resource: str, timestamp: str, event_id: str | None, outcome: str | None) -> dict[str, Any]:
    event = {"eventType": type, "eventResourceId": resource, "eventTimestamp": timestamp}
    return event | present({"eventId": event_id, "outcome": outcome})
