"""The original's Redis keys, and those in which this dialect remembers what it did. Nothing else spells one."""

from rota.dialects.sync_tasks.names import Collection
from rota.store.redis.keys import PREFIX

ANY = "sync_tasks*"
"""What the names of all the original's keys match: which of them a script could not use, Redis does not say."""
QUEUE = "sync_tasks_priority_queue"
"""sorted set: ids of tasks that wait, by priority; the largest is first."""

_OWN = f"{PREFIX}:sync_tasks"
SHOWN = f"{_OWN}:shown"
"""hash: task id -> id of its job, for every task that this dialect shows."""
SHOWN_UNTIL = f"{_OWN}:shown_until"
"""string: the end time up to which ended tasks are shown."""
TURN = f"{_OWN}:turn"
"""string: the node that keeps the keys at the moment; expires."""
DEAD = f"{_OWN}:dead"
"""list: ids that others put into the queue and that are no tasks (JSON: id, reason, time), oldest first."""
_AMBIGUOUS = ":collection#"


def index(collection: Collection) -> str:
    """sorted set: ids of a collection's tasks, by the second of their creation."""
    return f"sync_tasks_index:source#{_part(collection.source)}:collection#{_part(collection.name)}"


def task(id: str) -> str:
    """hash: the fields of a task."""
    return f"sync_tasks#{id}"


def logs(id: str) -> str:
    """sorted set: what a task wrote (JSON: time, message, level), by second."""
    return f"sync_tasks#{id}:logs"


def _part(name: str) -> str:
    """As it is, but for a name that looks as if another part began within it."""
    return name.replace("#", "%23") if _AMBIGUOUS in name else name
