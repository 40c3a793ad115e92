"""Keys: who may use the server, what each may do, and until when. Nobody can see the keys themselves."""

from rota.engine.access.keys.access import Role
from rota.server.pages.asking import Asking
from rota.server.pages.page import Context, Visit

PARTS = ("list",)
_DAY_MS = 24 * 3_600_000
_LIVES = (("", "no end"), (str(_DAY_MS), "a day"), (str(30 * _DAY_MS), "30 days"), (str(365 * _DAY_MS), "a year"))


def gather(asking: Asking, visit: Visit) -> Context:
    return {**asking.ask("list_keys"), "roles": [role.value for role in Role], "lives": _LIVES}
