"""Synchrony's Redis keys, and those in which this dialect remembers what it did with them. Nothing else spells one.

Synchrony's keys have no prefix and no hash tags, so they live in one place on a single primary only.
"""

from rota.store.redis.keys import PREFIX

NODE_TYPES = "node_types"
"""hash: node type name -> node type (JSON). The original program has the uuid as field; both are read."""
JOB_TYPES = "job_types"
"""hash: job type uuid -> job type (JSON)."""
SCHEDULE_ITEMS = "schedule_items"
"""hash: schedule uuid -> schedule item (JSON)."""
NODES = "nodes"
"""hash: node uuid -> node (JSON)."""

_WAITING = "jobs_waiting_"
_OWN = f"{PREFIX}:synchrony"
DEAD = f"{_OWN}:dead"
"""list: pushed entries that are no jobs (JSON: list, entry, reason, time), oldest first."""
ORDER = f"{_OWN}:order"
"""hash: queue -> rank and id of the job that was adopted last, so that the next one comes behind it."""
TURN = f"{_OWN}:turn"
"""string: the node that keeps the keys at the moment; expires."""
JOBS_TURN = f"{_OWN}:jobs_turn"
"""string: the same, for the keys of single jobs."""
SHOWN_UNTIL = f"{_OWN}:shown_until"
"""hash: queue -> the end time up to which its finished jobs are shown."""
SHOWN_NODES = f"{_OWN}:shown_nodes"
"""set: uuids that this dialect put into `nodes`."""


def jobs_waiting(node_type: str) -> str:
    """list: jobs (JSON) that others push."""
    return f"{_WAITING}{node_type}"


def node_type_of_list(key: str) -> str:
    """Whose jobs wait in a list."""
    return key.removeprefix(_WAITING)


def jobs_in_progress(node_type: str) -> str:
    """hash: job uuid -> job (JSON)."""
    return f"jobs_in_progress_{node_type}"


def jobs_finished(node_type: str) -> str:
    """hash: job uuid -> job (JSON)."""
    return f"jobs_finished_{node_type}"


def agreed(key: str) -> str:
    """hash: field of `key` -> digests of what stood there and here when both last agreed."""
    return f"{_OWN}:agreed:{key}"
