"""Schedules: when each fires, what became of its last ticks, and why it does not; the editor with its preview."""

from typing import Any

from rota.errors import InvalidInput
from rota.model.schedules.schedule import Overlap
from rota.model.triggers.catch_up import CatchUpMode
from rota.server.pages.asking import Asking
from rota.server.pages.page import Context, Visit

PARTS = ("list",)
ONE_PARTS = ("head", "why", "fires", "ticks")
_ROWS = 50
_TICKS = 20
_FIRES = 5
_OVERLAPS = {
    Overlap.SKIP: "skip it while an earlier job lives",
    Overlap.BUFFER_ONE: "keep one for when the earlier job has ended",
    Overlap.BUFFER_ALL: "keep all, one after another",
    Overlap.CANCEL_OTHER: "cancel the earlier job if it waits",
    Overlap.TERMINATE_OTHER: "end the earlier job, also while it runs",
    Overlap.ALLOW: "let them run beside each other",
}
_CATCH_UPS = {
    CatchUpMode.NONE: "leave them out",
    CatchUpMode.LAST: "make up for the last one",
    CatchUpMode.ALL: "make up for all of them",
}


def gather(asking: Asking, visit: Visit) -> Context:
    page = asking.ask("list_schedules", limit=_ROWS, cursor=visit.query.get("cursor") or None)
    for one in page["schedules"]:
        one["ticks"] = _ticks(asking.ask_if_there("list_ticks", {"schedule": one["uuid"]}, limit=_TICKS))
    return {"page": page, "is_first": not visit.query.get("cursor")}


def gather_one(asking: Asking, visit: Visit) -> Context:
    path = {"schedule": visit.path["schedule"]}
    schedule = asking.ask("show_schedule", path)
    return {
        "schedule": schedule,
        "why": asking.ask("why_schedule", path),
        "next": asking.ask("next_of_schedule", path, count=_FIRES),
        "ticks": _ticks(asking.ask("list_ticks", {"schedule": schedule["uuid"]}, limit=_TICKS)),
        "overlap_words": _OVERLAPS[Overlap(schedule["overlap"])],
        "catch_up_words": _CATCH_UPS[CatchUpMode(schedule["catch_up"]["mode"])],
    }


def gather_form(asking: Asking, visit: Visit) -> Context:
    """A new one, or one to be changed."""
    name = visit.path.get("schedule")
    schedule = asking.ask("show_schedule", {"schedule": name}) if name else None
    types = asking.ask_if_allowed("list_job_types")
    trigger = schedule["trigger"] if schedule else {}
    return {
        "schedule": schedule,
        "trigger": trigger,
        "types": [one["name"] for one in (types["job_types"] if types else [])],
        "chosen": schedule["job_type"] if schedule else visit.query.get("type", ""),
        "overlaps": [(one.value, words) for one, words in _OVERLAPS.items()],
        "catch_ups": [(one.value, words) for one, words in _CATCH_UPS.items()],
        **_preview(asking, trigger.get("cron", ""), trigger.get("tz", "UTC")),
    }


def gather_preview(asking: Asking, visit: Visit) -> Context:
    """What a cron line means, while it is being typed."""
    return _preview(asking, visit.query.get("cron", ""), visit.query.get("tz", ""))


def _preview(asking: Asking, cron: str, tz: str) -> Context:
    if not cron.strip():
        return {"preview": None, "problem": ""}
    try:
        found = asking.ask("next_of_cron", cron=cron.strip(), tz=tz.strip() or "UTC", count=_FIRES)
        return {"preview": found, "problem": ""}
    except InvalidInput as error:
        return {"preview": None, "problem": str(error)}


def _ticks(found: Any) -> list[Any]:
    """The latest of them, oldest first; none of a schedule that is gone."""
    return list(reversed(found["ticks"])) if found else []
