"""Job types: what can be run; one of them, with its latest jobs and what makes them; the form that defines one, and the
form that enqueues a job of it."""

from typing import Any

from rota.engine.executors.registry import BUILT_IN
from rota.model.job_type import OnNodeDeath, Unique
from rota.server.pages.asking import Asking
from rota.server.pages.finding.search import as_word
from rota.server.pages.page import Context, Visit

_JOBS = 10
_UNIQUES = {
    Unique.NONE: "no, they run beside each other",
    Unique.WHILE_RUNNING: "while one runs, the others wait in order",
    Unique.WHILE_PENDING: "while one waits or runs, no equal one is made",
}
_DEATHS = {OnNodeDeath.REQUEUE: "run the job again", OnNodeDeath.FAIL: "the job has failed"}
_EXAMPLES = (
    ("bash", '{"command": ["./report.sh", "--all"]}'),
    ("python", '{"function": "shop.reports:make"}'),
    ("http", '{"method": "POST", "url": "https://shop.example/reports"}'),
)


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


def gather_form(asking: Asking, visit: Visit) -> Context:
    """The editor, empty or of one job type."""
    uuid = visit.path.get("job_type")
    job_type = asking.ask("show_job_type", {"job_type": uuid}) if uuid else None
    node_types = asking.ask_if_allowed("list_node_types")
    unique = job_type["unique"] if job_type else False
    return {
        "job_type": job_type,
        "unique": unique if isinstance(unique, str) else Unique.WHILE_RUNNING if unique else Unique.NONE,
        "uniques": [(value.value, words) for value, words in _UNIQUES.items()],
        "deaths": [(value.value, words) for value, words in _DEATHS.items()],
        "executors": sorted(BUILT_IN),
        "node_types": [one["name"] for one in node_types["node_types"]] if node_types else [],
        "examples": _EXAMPLES,
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
