"""The document's Redis keys, and those in which this dialect remembers what it did. Nothing else spells one."""

from msgspec import Struct

from rota.store.redis.keys import PREFIX

_TTL = ":ttl"


class Keys(Struct, frozen=True):
    """The keys of the tasks that share a prefix."""

    prefix: str

    @property
    def queue(self) -> str:
        """list: ids of tasks that wait for a worker, the first at its head."""
        return f"{self.prefix}queue"

    def task(self, id: str) -> str:
        """string: a task (JSON)."""
        return f"{self.prefix}task:{id}"

    def ttl(self, id: str) -> str:
        """string: the task's key; expires when its time has come."""
        return f"{self.task(id)}{_TTL}"

    @property
    def ids(self) -> str:
        """list: ids of all tasks."""
        return f"{self.prefix}tasks:ids"

    @property
    def active(self) -> str:
        """list: ids of tasks that workers have."""
        return f"{self.prefix}tasks:active"

    @property
    def failed(self) -> str:
        """list: ids of tasks that failed."""
        return f"{self.prefix}tasks:failed"

    @property
    def completed(self) -> str:
        """list: completed tasks (JSON), the latest at its end."""
        return f"{self.prefix}tasks:completed"

    @property
    def shown(self) -> str:
        """hash: id -> the list that this dialect put it into, or nothing, for every task that it shows."""
        return f"{self._own}:shown"

    @property
    def shown_until(self) -> str:
        """string: the end time up to which ended runs are shown."""
        return f"{self._own}:shown_until"

    @property
    def turn(self) -> str:
        """string: the node that keeps the keys at the moment; expires."""
        return f"{self._own}:turn"

    @property
    def dead(self) -> str:
        """list: ids that others put into the queue and that are no tasks (JSON: id, reason, time), oldest first."""
        return f"{self._own}:dead"

    @property
    def _own(self) -> str:
        return f"{PREFIX}:tasks:{self.prefix}"

    @property
    def any_task(self) -> str:
        """The pattern of `task` keys; it fits those of `ttl` too."""
        escaped = "".join(f"\\{letter}" if letter in "*?[]\\^" else letter for letter in self.prefix)
        return f"{escaped}task:*"

    def id_of_task(self, key: str) -> str | None:
        """The id in the key of a task; None for any other key."""
        beginning = self.task("")
        return key.removeprefix(beginning) if key.startswith(beginning) and not key.endswith(_TTL) else None

    def id_of_ttl(self, key: str) -> str | None:
        """The id in the key whose end says that a task's time has come; None for any other key."""
        return self.id_of_task(key.removesuffix(_TTL)) if key.endswith(_TTL) else None
