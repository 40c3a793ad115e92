"""The command palette: screens, things by name, and what this caller may do, as somebody types."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from msgspec import Struct

from rota.errors import RotaError
from rota.model.ids import is_id
from rota.server.pages.asking import Asking
from rota.server.pages.finding.matching import fits
from rota.server.pages.page import Context, Visit

_MOST = 12
"""Choices that are shown."""
_SCANNED = 500
"""Schedules and configurations that are looked through; further ones are found by their whole names."""
_LONGEST = 200


class Choice(Struct, frozen=True, kw_only=True):
    """Where it leads, what it calls, or which button of the page it presses."""

    name: str
    kind: str
    href: str = ""
    call: str = ""
    """An operation: it is asked for once more before it is called."""
    then: str = ""
    """Where its answer leads."""
    press: str = ""


_EVERYWHERE = (
    Choice(name="Light or dark", kind="look", press="[data-theme-toggle]"),
    Choice(name="Live or paused", kind="look", press="[data-live]"),
    Choice(name="Shortcuts", kind="help", press="[data-shortcuts]"),
    Choice(name="API documentation", kind="help", href="/docs"),
    Choice(name="Sign out", kind="key", press="form[action='/sign-out'] button"),
)


def gather(asking: Asking, visit: Visit) -> Context:
    typed = visit.query.get("q", "").strip()[:_LONGEST]
    found = [*_screens(visit), *_doings(asking), *_EVERYWHERE]
    if typed:
        found += [*_job_types(asking), *_queues(asking), *_schedules(asking, typed), *_configurations(asking, typed)]
    ranked = [(rank, choice) for choice in found if (rank := fits(choice.name, typed)) is not None]
    shown = [choice for _, choice in sorted(ranked, key=lambda one: one[0])[:_MOST]]
    return {"choices": [*shown, *_in_jobs(asking, typed)]}


def _screens(visit: Visit) -> Iterator[Choice]:
    for entry in visit.navigation:
        yield Choice(name=entry.section, kind="screen", href=entry.path)


def _doings(asking: Asking) -> Iterator[Choice]:
    if asking.may("list_jobs"):
        yield Choice(name="Failed jobs", kind="search", href="/jobs?q=state:failed")
        yield Choice(name="Running jobs", kind="search", href="/jobs?q=state:running")
    if asking.may("enqueue_job"):
        yield Choice(name="Enqueue a job", kind="action", href="/enqueue")
    if asking.may("create_schedule"):
        yield Choice(name="New schedule", kind="action", href="/schedules/new")


def _job_types(asking: Asking) -> Iterator[Choice]:
    found = asking.ask_if_allowed("list_job_types")
    for one in found["job_types"] if found else ():
        yield Choice(name=one["name"], kind="job type", href=f"/job-types/{one['uuid']}")
        if asking.may("enqueue_job"):
            yield Choice(name=f"Enqueue {one['name']}", kind="action", href=f"/enqueue?type={quote(one['name'])}")


def _queues(asking: Asking) -> Iterator[Choice]:
    found = asking.ask_if_allowed("list_queues")
    for one in found["queues"] if found else ():
        yield Choice(name=one["name"], kind="queue", href="/queues")
        if asking.may("pause_queue"):
            word = "resume" if one["paused"] else "pause"
            yield _call(f"{word.capitalize()} queue {one['name']}", f"/api/node_types/{one['uuid']}/{word}")


def _schedules(asking: Asking, typed: str) -> Iterator[Choice]:
    for one in named(asking, "schedules", {"schedule": typed}):
        yield Choice(name=one["name"], kind="schedule", href=f"/schedules/{one['uuid']}")
        if asking.may("run_schedule"):
            path = f"/api/schedules/{one['uuid']}"
            word = "resume" if one["paused"] else "pause"
            yield _call(f"Run schedule {one['name']} now", f"{path}/run", then="/jobs/{uuid}")
            yield _call(f"{word.capitalize()} schedule {one['name']}", f"{path}/{word}")


def _configurations(asking: Asking, typed: str) -> Iterator[Choice]:
    for one in named(asking, "configurations", {"name": typed}):
        yield Choice(name=one["name"], kind="configuration", href=f"/configurations/{one['uuid']}")


def named(asking: Asking, what: str, path: dict[str, str]) -> list[Any]:
    """The first things of a kind, by name, and the one of this name, if there are more."""
    page = asking.ask_if_allowed(f"list_{what}", limit=_SCANNED)
    if page is None or page["cursor"] is None:
        return page[what] if page else []
    try:
        return [*page[what], asking.ask(f"show_{what[:-1]}", path)]
    except RotaError:
        return list(page[what])


def _call(name: str, path: str, then: str = "") -> Choice:
    return Choice(name=name, kind="action", call=f"POST {path}", then=then)


def _in_jobs(asking: Asking, typed: str) -> Iterator[Choice]:
    """Last of all: the job of this id, or what a search of jobs finds."""
    if typed and asking.may("list_jobs"):
        if is_id(typed.lower()):
            yield Choice(name=f"Job {typed}", kind="job", href=f"/jobs/{typed.lower()}")
        yield Choice(name=f"Search jobs for {typed}", kind="search", href=f"/jobs?q={quote(typed)}")
