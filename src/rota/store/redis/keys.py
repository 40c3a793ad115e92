"""Every key that Rota uses in Redis. Nothing else spells a key.

The part in braces is what Redis Cluster routes by: all keys of one queue share a slot, so that a script on a queue is
one atomic step there too.
"""

PREFIX = "rota"


class QueueKeys:
    """The keys of one queue."""

    __slots__ = (
        "_base",
        "awaited_since",
        "cancelled",
        "cancelling",
        "configuration_states",
        "configurations",
        "delayed",
        "dependency_index",
        "ended",
        "failed",
        "fence",
        "floors",
        "held",
        "jobs",
        "locks",
        "marks",
        "outbox",
        "paused",
        "progress",
        "pulses",
        "rates",
        "rates_due",
        "rates_spent",
        "ready",
        "running",
        "schedule_due",
        "schedule_states",
        "schedules",
        "series",
        "succeeded",
        "synced",
        "totals",
        "unique",
        "wake",
    )

    def __init__(self, queue: str) -> None:
        self._base = f"{PREFIX}:{{{queue}}}:"
        self.jobs = self._base + "jobs"
        """hash: job id -> spec (JSON), for every job of the queue."""
        self.marks = self._base + "marks"
        """hash: job id -> mark (JSON), only for jobs about which there is more to know than their spec: a time to wait
        for, attempts used, a lock or a unique key. Plain jobs have none, and cost nothing."""
        self.ready = self._base + "ready"
        """sorted set: id of queued jobs by rank."""
        self.delayed = self._base + "delayed"
        """sorted set: id of delayed jobs by due time."""
        self.held = self._base + "held"
        """sorted set, by name: lock, rank and id of queued jobs that wait for a lock; the same with a rate key, of
        those that wait for a rate."""
        self.running = self._base + "running"
        """hash: job id -> token, rank, when it began (0: it waits in its node's buffer)."""
        self.cancelling = self._base + "cancelling"
        """hash: id of running jobs that are to be cancelled -> 1."""
        self.locks = self._base + "locks"
        """hash: lock key -> id of the running job that holds it."""
        self.rates = self._base + "rates"
        """hash: rate key -> the starts that count, as groups: an instant and how many, with spaces between them."""
        self.rates_due = self._base + "rates_due"
        """sorted set: rate keys for which jobs wait, by when these are looked at again."""
        self.rates_spent = self._base + "rates_spent"
        """sorted set: rate keys by when nothing of their starts counts any more."""
        self.unique = self._base + "unique"
        """hash: unique key -> id of the live job that has it."""
        self.ended = self._base + "ended"
        """hash: job id -> ending (JSON)."""
        self.series = self._base + "series"
        """sorted set, by name: series, when it was enqueued and id of each job that is in one."""
        self.succeeded = self._base + "succeeded"
        """sorted set: id by end time; the same for the next two."""
        self.failed = self._base + "failed"
        self.cancelled = self._base + "cancelled"
        self.pulses = self._base + "pulses"
        """hash: node -> its last sign of life, a text that changes with each."""
        self.floors = self._base + "floors"
        """hash: node -> serial up to which its claims come too late."""
        self.fence = self._base + "fence"
        """string: the last number that a run under a lock was given."""
        self.paused = self._base + "paused"
        """string: there while the queue is paused."""
        self.progress = self._base + "progress"
        """hash: job id -> how far it has come (JSON), only for jobs that said so."""
        self.totals = self._base + "totals"
        """hash: how many jobs were enqueued, succeeded, failed and cancelled in all."""
        self.synced = self._base + "synced"
        """string: a number that grows each time somebody waits until replicas have what was written before it."""
        self.wake = self._base + "wake"
        """list: holds one item when jobs became ready that no waiting node has been told of."""

        self.schedules = self._base + "schedules"
        """hash: schedule uuid -> schedule (JSON)."""
        self.schedule_states = self._base + "schedule_states"
        """hash: schedule uuid -> version, a space, state (JSON)."""
        self.schedule_due = self._base + "schedule_due"
        """sorted set: schedule uuid by the time at which it is to be decided."""

        self.configurations = self._base + "configurations"
        """hash: configuration uuid -> configuration (JSON)."""
        self.configuration_states = self._base + "configuration_states"
        """hash: configuration uuid -> version, a space, state (JSON)."""
        self.dependency_index = self._base + "dependency_index"
        """sorted set, by name: event type, `=` or `^`, resource or its literal beginning, configuration uuid."""
        self.outbox = self._base + "outbox"
        """sorted set: ends of jobs that are yet to be taken as events (JSON), by time."""
        self.awaited_since = self._base + "awaited_since"
        """string: the version of the definitions that whoever ends jobs here must know, since it changed which ends are
        waited for."""

    def fixed(self) -> list[str]:
        """Every key that a queue has once."""
        return [getattr(self, name) for name in self.__slots__ if name != "_base"]

    def evaluations(self, configuration: str) -> str:
        """list: evaluations (JSON) of one configuration, latest first."""
        return f"{self._base}evaluations:{configuration}"

    def validations(self, configuration: str) -> str:
        """sorted set: events that validated a dependency of one configuration (JSON), by reception."""
        return f"{self._base}validations:{configuration}"

    def event_ids(self, configuration: str) -> str:
        """sorted set: ids that senders gave to events which validated one configuration, by reception."""
        return f"{self._base}event_ids:{configuration}"

    def ticks(self, schedule: str) -> str:
        """sorted set: ticks (JSON) of one schedule by nominal instant."""
        return f"{self._base}ticks:{schedule}"

    def log(self, job_id: str) -> str:
        """list: log entries (JSON) of one job."""
        return f"{self._base}log:{job_id}"

    def stats(self, hour: int) -> str:
        """hash: minute and word -> how many jobs, within an hour (counted from the epoch); it expires by itself."""
        return f"{self._base}stats:{hour}"

    def inbox(self, node: str) -> str:
        """list: ids of jobs that one node is to cancel; an empty item only wakes it."""
        return f"{self._base}inbox:{node}"


class DefinitionKeys:
    """The keys of one kind of definitions."""

    def __init__(self, kind: str) -> None:
        base = f"{PREFIX}:{{definitions}}:"
        self.bodies = f"{base}{kind}"
        """hash: uuid -> definition (JSON)."""
        self.names = f"{base}{kind}:names"
        """hash: name -> uuid."""
        self.version = f"{base}version"
        """string: a number that grows with every change of any definition."""


class TopicKeys:
    """The keys of one topic."""

    def __init__(self, topic: str) -> None:
        base = f"{PREFIX}:{{topic:{topic}}}:"
        self.ends = base + "ends"
        """hash: `first` and `end`, the offsets of the oldest and of the next record."""
        self.ids = base + "ids"
        """hash: id -> offset, of every record."""
        self.records = base + "records"
        """hash: offset -> when it was published, a space, id, a line feed, record (JSON)."""


NODE_TYPES = DefinitionKeys("node_types")
JOB_TYPES = DefinitionKeys("job_types")
SCHEDULE_QUEUES = f"{PREFIX}:{{schedules}}:queues"
"""hash: schedule uuid -> its queue."""
SCHEDULE_NAMES = f"{PREFIX}:{{schedules}}:names"
"""hash: schedule name -> uuid."""
SCHEDULE_ORDER = f"{PREFIX}:{{schedules}}:order"
"""sorted set, by name: schedule names."""
SCHEDULE_USERS = f"{PREFIX}:{{schedules}}:users"
"""sorted set, by name: job type, a space, name of a schedule of it."""
CONFIGURATION_QUEUES = f"{PREFIX}:{{configurations}}:queues"
"""hash: configuration uuid -> its queue."""
CONFIGURATION_NAMES = f"{PREFIX}:{{configurations}}:names"
"""hash: configuration name -> uuid."""
CONFIGURATION_ORDER = f"{PREFIX}:{{configurations}}:order"
"""sorted set, by name: configuration names."""
JOB_RULES_VERSION = f"{PREFIX}:{{configurations}}:job_rules_version"
"""string: a number that grows before and after a configuration is put that waits for the end of jobs."""
PENDING_JOB_RULES = f"{PREFIX}:{{configurations}}:pending_job_rules"
"""hash: configuration uuid -> instant, a space, configuration (JSON), of those that are being put."""
EVENT_RECORDS = f"{PREFIX}:{{events}}:records"
"""sorted set, by name: id, a space, event that was taken (JSON)."""
EVENT_QUEUES = f"{PREFIX}:{{configurations}}:event_queues"
"""set: every queue that ever had configurations."""
QUEUES = f"{PREFIX}:queues"
"""set: every queue that ever had jobs, so that those of a deleted node type are found."""
LOSSES = f"{PREFIX}:losses"
"""sorted set: what certainly was lost (a sentence), by when it was noticed."""
PROBE = f"{PREFIX}:probe"
"""string: a number that grows each time somebody tries whether the store can be written."""
SETTINGS = f"{PREFIX}:settings"
"""hash: small values of the installation."""
AUDIT = f"{PREFIX}:audit"
"""sorted set, by name: id, a space, entry (JSON) of the audit log."""
TOPIC_NAMES = f"{PREFIX}:topics"
"""sorted set, by name: topics."""
NODES = f"{PREFIX}:{{nodes}}:nodes"
"""hash: node uuid -> node (JSON)."""
PINGS = f"{PREFIX}:{{nodes}}:pings"
"""sorted set: node uuid by last beat."""
