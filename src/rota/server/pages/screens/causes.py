"""What made a job, and what made that: a schedule's tick, an event and the configuration that it completed, or the end
of another job."""

from typing import Any

from msgspec import Struct

from rota.errors import RotaError
from rota.model.events.event import JOB
from rota.server.pages.asking import Asking

_MOST_JOBS = 5
"""A chain is followed through so many jobs."""
_EVALUATIONS = 100
"""Of a configuration, the latest: what made an older job is no longer told event by event."""
_OF_SCHEDULES = {
    "schedule": "schedule",
    "manual": "by hand, of schedule",
    "backfill": "a backfill of schedule",
}


class Link(Struct, frozen=True, kw_only=True):
    """One of a chain."""

    words: str
    name: str = ""
    href: str = ""
    instant: int | None = None
    """For which it was made."""
    text: str = ""
    """An instant as an event states it."""


def chain_to(asking: Asking, job: Any) -> list[Link]:
    """From what came first to what made the job."""
    links: list[Link] = []
    for _ in range(_MOST_JOBS):
        found, job = _made_by(asking, job)
        links = [*found, *links]
        if job is None:
            break
    return links


def _made_by(asking: Asking, job: Any) -> tuple[list[Link], Any]:
    """What made it, the earlier first, and the job whose end that was."""
    cause = job["cause"]
    if cause is None:
        return [Link(words="a request")], None
    kind, name = cause["kind"], cause.get("name", "").partition(":")[0]
    if kind in _OF_SCHEDULES:
        schedule = _named(asking, "show_schedule", {"schedule": name})
        href = f"/schedules/{name}" if schedule else ""
        instant = cause.get("instant")
        return [Link(words=_OF_SCHEDULES[kind], name=_name(schedule, name), href=href, instant=instant)], None
    if kind == "event":
        return _made_by_event(asking, job["uuid"], name)
    return [Link(words=kind.replace("_", " "), name=name)], None


def _made_by_event(asking: Asking, job: str, name: str) -> tuple[list[Link], Any]:
    configuration = _named(asking, "show_configuration", {"name": name})
    href = f"/configurations/{name}" if configuration else ""
    link = Link(words="configuration", name=_name(configuration, name), href=href)
    found = _named(asking, "list_evaluations", {"name": name}, limit=_EVALUATIONS) if configuration else None
    event = next((one["event"] for one in (found["evaluations"] if found else ()) if one["job"] == job), None)
    if event is None:
        return [link], None
    if event.get("type") != JOB:
        words = f"event {event.get('type', '')}".strip()
        return [Link(words=words, name=event["resourceId"], text=event["timestamp"]), link], None
    ended = _named(asking, "show_job", {"uuid": event["id"].partition("/")[0]})
    if ended is None:
        return [Link(words="the end of a job of", name=event["resourceId"], text=event["timestamp"]), link], None
    title = f"{ended['job_type'] or '?'}"
    return [Link(words="the end of job", name=title, href=f"/jobs/{ended['uuid']}"), link], ended


def _named(asking: Asking, operation: str, path: dict[str, str], **query: object) -> Any:
    """What an operation says of it; None if the caller may not ask, or it is gone."""
    try:
        return asking.ask_if_allowed(operation, path, **query)
    except RotaError:
        return None


def _name(found: Any, uuid: str) -> str:
    return str(found["name"]) if found else uuid
