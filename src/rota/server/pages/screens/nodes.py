"""Nodes: the processes that live, what they do, and what is wrong with them."""

from rota.server.pages.asking import Asking
from rota.server.pages.page import Context, Visit

PARTS = ("list",)


def gather(asking: Asking, visit: Visit) -> Context:
    return asking.ask("list_nodes")  # type: ignore[no-any-return]
