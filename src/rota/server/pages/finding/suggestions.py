"""How the word that somebody types into the search of jobs may go on."""

from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from rota.model.job import JobState
from rota.server.pages.asking import Asking
from rota.server.pages.finding.matching import best, fits
from rota.server.pages.finding.palette import named
from rota.server.pages.finding.search import NOT_STATE, QUALIFIERS, as_word
from rota.server.pages.page import Context, Visit

_MOST = 10
_LONGEST = 200
_MEANINGS = {
    "state": "how far it is",
    NOT_STATE: "those are left out",
    "type": "what it runs",
    "queue": "where it waits",
    "schedule": "which schedule made it",
    "node": "which node runs it or ran it last",
    "after": "enqueued since",
    "before": "enqueued until",
}
_AGES = {"1h": "an hour ago", "1d": "a day ago", "7d": "a week ago", "30d": "30 days ago"}


class Suggestion(Struct, frozen=True):
    value: str
    """What the word becomes. One that ends with a colon is to go on."""
    words: str


def gather(asking: Asking, visit: Visit) -> Context:
    typed = visit.query.get("word", "").replace('"', "")[:_LONGEST]
    name, colon, begun = typed.partition(":")
    found = _values(asking, name, begun) if colon else _beginnings(asking, typed)
    return {"suggestions": found[:_MOST]}


def _beginnings(asking: Asking, typed: str) -> list[Suggestion]:
    """Names of conditions; and values of those with few of them."""
    names = [Suggestion(f"{name}:", _MEANINGS[name]) for name in QUALIFIERS if fits(name, typed) == 0]
    if not typed:
        return names
    return [*names, *(one for name in ("state", "type", "queue") for one in _values(asking, name, typed))]


def _values(asking: Asking, name: str, begun: str) -> list[Suggestion]:
    if name in ("after", "before"):
        return [Suggestion(f"{name}:{age}", words) for age, words in _AGES.items() if age.startswith(begun)]
    if name == "node":
        return _nodes(asking, begun)
    fitting = best(_names(asking, name, begun), begun, _MOST)
    return [Suggestion(f"{name}:{as_word(one)}", _MEANINGS[name]) for one in fitting]


def _names(asking: Asking, name: str, begun: str) -> Iterable[str]:
    found: Any = None
    if name in ("state", NOT_STATE):
        return [state.value for state in JobState]
    if name == "type":
        found = asking.ask_if_allowed("list_job_types")
        return [one["name"] for one in (found["job_types"] if found else ())]
    if name == "queue":
        found = asking.ask_if_allowed("list_queues")
        return [one["name"] for one in (found["queues"] if found else ())]
    if name == "schedule":
        return [one["name"] for one in named(asking, "schedules", {"schedule": begun})]
    return []


def _nodes(asking: Asking, begun: str) -> list[Suggestion]:
    found = asking.ask_if_allowed("list_nodes")
    nodes = found["nodes"] if found else ()
    return [
        Suggestion(f"node:{one['uuid']}", f"{one['host']}, process {one['pid']}")
        for one in nodes
        if fits(one["host"], begun) is not None or one["uuid"].startswith(begun)
    ]
