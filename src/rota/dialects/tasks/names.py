"""How tasks are known in an installation: their node type, their job types, and the schedule of each."""

import re
from hashlib import blake2b

from msgspec import Struct

from rota.errors import InvalidInput
from rota.model.job_type import JobType
from rota.model.node import NodeType
from rota.model.runs.retry import RetryPolicy
from rota.settings.definition_ids import definition_uuid

OWNER = "tasks"
"""Who the definitions of tasks belong to."""
FUNCTION = "rota.dialects.tasks.backends.delivery:deliver"
PREFIX_LABEL = "task_prefix"
"""The label of a job type that says which tasks it is of."""
MAX_ID = 256
MAX_PREFIX = 64
DEFAULT_TRIES = 4
MAX_TRIES = 1_000
_FIRST_WAIT_MS, _LONGER_BY, _LONGEST_WAIT_MS, _JITTER = 500, 2.3, 3_600_000, 0.13
_NOT_PLAIN = re.compile(r"[^A-Za-z0-9._:-]+")
_KEPT = 60
"""Letters of a name that stay when it has to be made plain."""


class Names(Struct, frozen=True):
    """The names of the tasks that share a prefix."""

    prefix: str = ""

    @property
    def node_type(self) -> str:
        """The name of their queue."""
        return f"{OWNER}:{_plain(self.prefix)}" if self.prefix else OWNER

    @property
    def node_type_uuid(self) -> str:
        return definition_uuid("node_types", self.node_type)

    def schedule_uuid(self, task_id: str) -> str:
        return definition_uuid("task", f"{self.prefix}\0{task_id}")

    def schedule_name(self, task_id: str) -> str:
        return f"{self.node_type}/{_plain(task_id)}"

    def make_node_type(self, threads: int) -> NodeType:
        return NodeType(uuid=self.node_type_uuid, name=self.node_type, thread_count=threads, managed_by=OWNER)

    def make_job_type(self, max_tries: int) -> JobType:
        """What tasks with so many tries are. Each wait is longer than the one before, and none changes a period."""
        name = self.node_type if max_tries == DEFAULT_TRIES else f"{self.node_type}/tries-{max_tries}"
        return JobType(
            uuid=definition_uuid("job_types", name),
            name=name,
            executor="python",
            metadata={"function": FUNCTION},
            node_type=self.node_type,
            retry=RetryPolicy(max_tries, _FIRST_WAIT_MS, _LONGER_BY, _LONGEST_WAIT_MS, _JITTER),
            managed_by=OWNER,
            labels={PREFIX_LABEL: self.prefix},
        )


def names_of(prefix: str) -> Names:
    """The names of a prefix, checked."""
    if not isinstance(prefix, str) or len(prefix) > MAX_PREFIX or not prefix.isprintable():
        raise InvalidInput("prefix", f"must be text of at most {MAX_PREFIX} characters, got {prefix!r:.100}")
    return Names(prefix)


def check_task_id(id: object) -> str:
    if not isinstance(id, str) or not id.strip() or len(id) > MAX_ID or not id.isprintable():
        raise InvalidInput("id", f"must be text of 1 to {MAX_ID} characters, got {id!r:.100}")
    if id.endswith(":ttl"):
        raise InvalidInput("id", f"{id!r} ends with ':ttl', as the keys of waiting tasks do; choose another")
    return id


def _plain(name: str) -> str:
    """Readable, in the letters that Rota's names may have, and another one for each name."""
    if len(name) <= _KEPT and not _NOT_PLAIN.search(name):
        return name
    digest = blake2b(name.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
    return f"{_NOT_PLAIN.sub('-', name)[:_KEPT]}-{digest}"
