"""Job types: what can be run; one of them, with its latest jobs and what makes them; and the form that enqueues one."""

from typing import Any

from rota.server.pages.asking import Asking
from rota.server.pages.finding.search import as_word
from rota.server.pages.page import Context, Visit

_JOBS = 10


def gather(asking: Asking, visit: Visit) -> Context:
    return asking.ask("list_job_types")  # type: ignore[no-any-return]


def gather_one(asking: Asking, visit: Visit) -> Context:
    job_type = asking.ask("show_job_type", {"job_type": visit.path["job_type"]})
    uuid = job_type["uuid"]
    return {
        "job_type": job_type,
        "search": f"type:{as_word(job_type['name'])}",
        "jobs": asking.ask_if_allowed("list_jobs", job_type=uuid, limit=_JOBS),
        "schedules": asking.ask_if_allowed("list_schedules", job_type=uuid, limit=_JOBS),
    }


def gather_enqueue(asking: Asking, visit: Visit) -> Context:
    """The form, empty, for one job type, or as another job was."""
    types = asking.ask_if_allowed("list_job_types")
    uuid = visit.query.get("job")
    job: Any = asking.ask("show_job", {"uuid": uuid}) if uuid else None
    return {
        "types": [one["name"] for one in (types["job_types"] if types else [])],
        "job": job,
        "chosen": (job["job_type"] or "") if job else visit.query.get("type", ""),
    }
