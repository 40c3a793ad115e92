"""What the soak counts as left behind, and what it does not."""

import pytest

from rota.engine.observation.happenings import LeaveFailed
from rota.engine.observation.log_lines import write
from rota.errors import StoreUnavailable
from rota.host.log_format import JsonFormatter
from rota.model.node import Node
from tests.soak.leftovers import still_listed

STOPPED = Node(uuid="node-1", node_type="queue", last_ping=0, draining=True)
KILLED = Node(uuid="node-2", node_type="queue", last_ping=0)


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> str:
    """Of the process of a node that could not take leave, as it writes it."""
    write(LeaveFailed(STOPPED.uuid, StoreUnavailable("away")))
    return "\n".join(map(JsonFormatter().format, caplog.records))


def test_a_node_that_was_told_to_stop_is_not_listed_any_more() -> None:
    assert still_listed([STOPPED], ["node-1 said something else"]) == ["the node node-1 is still listed"]


def test_a_node_that_was_killed_is_listed_for_a_while() -> None:
    assert still_listed([KILLED], []) == []


def test_so_is_one_that_could_not_take_leave(log: str) -> None:
    assert still_listed([STOPPED], ["", log]) == []


def test_what_one_node_could_not_do_excuses_no_other(log: str) -> None:
    assert still_listed([Node(uuid="node-3", node_type="queue", last_ping=0, draining=True)], [log]) != []
