"""Jobs: searched, by state, page by page, and changed many at a time."""

from rota.errors import InvalidInput, NotFound
from rota.model.job import JobState
from rota.server.pages.asking import Asking
from rota.server.pages.finding.search import read_search, with_state
from rota.server.pages.page import Context, Visit

PARTS = ("tabs", "list")
_ROWS = 50
_ALL: dict[str, object] = {"all": True}


def gather(asking: Asking, visit: Visit) -> Context:
    text, now = visit.query.get("q", "").strip(), asking.now
    search = read_search(text, now)
    problem = search.problem
    page: Context = {"jobs": [], "cursor": None}
    if not problem:
        try:
            cursor = visit.query.get("cursor") or None
            page = asking.ask("list_jobs", limit=_ROWS, cursor=cursor, **search.conditions)
        except (InvalidInput, NotFound) as error:
            problem = str(error)
    return {
        "q": text,
        "problem": problem,
        "page": page,
        "is_first": not visit.query.get("cursor"),
        "filter": search.conditions or _ALL,
        "tabs": _tabs(asking, text, search.conditions.get("state")),
    }


def _tabs(asking: Asking, text: str, states: object) -> Context:
    """Each state with its search, and how many jobs all queues have in it."""
    queues = asking.ask_if_allowed("list_queues")
    counts = {
        state: sum(queue["jobs"][state] for queue in queues["queues"]) if queues else None
        for state in (state.value for state in JobState)
    }
    rows = [{"name": "all", "q": with_state(text, ""), "count": None, "is_current": not states}]
    for state, count in counts.items():
        rows.append({"name": state, "q": with_state(text, state), "count": count, "is_current": states == [state]})
    return {"rows": rows}
