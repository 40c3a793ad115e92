"""Every key that Rota uses in Redis. Nothing else spells a key.

The part in braces is what Redis Cluster routes by: all keys of one queue share a slot, so that a script on a queue is
one atomic step there too.
"""

PREFIX = "rota"


class QueueKeys:
    """The keys of one queue: each is called as here, behind what all of them share."""

    jobs: str
    """hash: job id -> spec (JSON), for every job of the queue."""
    marks: str
    """hash: job id -> mark (JSON), only for jobs about which there is more to know than their spec: a time to wait
    for, attempts used, a lock or a unique key. Plain jobs have none, and cost nothing."""
    ready: str
    """sorted set: id of queued jobs by rank."""
    delayed: str
    """sorted set: id of delayed jobs by due time."""
    held: str
    """sorted set, by name: lock, rank and id of queued jobs that wait for a lock; the same with a rate key, of
    those that wait for a rate."""
    running: str
    """hash: job id -> token, rank, when it began (0: it waits in its node's buffer)."""
    cancelling: str
    """hash: id of running jobs that are to be cancelled -> 1."""
    locks: str
    """hash: lock key -> id of the running job that holds it."""
    rates: str
    """hash: rate key -> the starts that count, as groups: an instant and how many, with spaces between them."""
    rates_due: str
    """sorted set: rate keys for which jobs wait, by when these are looked at again."""
    rates_spent: str
    """sorted set: rate keys by when nothing of their starts counts any more."""
    unique: str
    """hash: unique key -> id of the live job that has it."""
    ended: str
    """hash: job id -> ending (JSON)."""
    series: str
    """sorted set, by name: series, when it was enqueued and id of each job that is in one."""
    succeeded: str
    """sorted set: id by end time; the same for the next two."""
    failed: str
    cancelled: str
    pulses: str
    """hash: node -> its last sign of life, a text that changes with each."""
    floors: str
    """hash: node -> serial up to which its claims come too late, and when it left, if it has."""
    fence: str
    """string: the last number that a run under a lock was given."""
    paused: str
    """string: there while the queue is paused."""
    progress: str
    """hash: job id -> how far it has come (JSON), only for jobs that said so."""
    totals: str
    """hash: how many jobs were enqueued, succeeded, failed and cancelled in all."""
    synced: str
    """string: a number that grows each time somebody waits until replicas have what was written before it."""
    wake: str
    """list: holds one item when jobs became ready that no waiting node has been told of."""

    schedules: str
    """hash: schedule uuid -> schedule (JSON)."""
    schedule_states: str
    """hash: schedule uuid -> version, a space, state (JSON)."""
    schedule_due: str
    """sorted set: schedule uuid by the time at which it is to be decided."""
    giving_way: str
    """set: id of jobs in other queues that give way to jobs of this one, and are yet to be cancelled."""

    configurations: str
    """hash: configuration uuid -> configuration (JSON)."""
    configuration_states: str
    """hash: configuration uuid -> version, a space, state (JSON)."""
    dependency_index: str
    """sorted set, by name: event type, `=` or `^`, resource or its literal beginning, configuration uuid."""
    outbox: str
    """sorted set: ends of jobs that are yet to be taken as events (JSON), by time."""
    awaited_since: str
    """string: the version of the definitions that whoever ends jobs here must know, since it changed which ends are
    waited for. Not there until a change finds the queue, or its first jobs end."""

    def __init__(self, queue: str) -> None:
        self._base = f"{PREFIX}:{{{queue}}}:"
        self.__dict__.update((name, self._base + name) for name in QueueKeys.__annotations__)

    def fixed(self) -> list[str]:
        """Every key that a queue has once."""
        return [getattr(self, name) for name in QueueKeys.__annotations__]

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
        """list: ids and tokens of jobs that one node is to cancel; an empty item only wakes it."""
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
SCHEDULE_RESERVATIONS = f"{PREFIX}:{{schedules}}:reservations"
"""hash: schedule name -> token of whoever is about to write a schedule with it."""
CONFIGURATION_QUEUES = f"{PREFIX}:{{configurations}}:queues"
"""hash: configuration uuid -> its queue."""
CONFIGURATION_ARRIVALS = f"{PREFIX}:{{configurations}}:arrivals"
"""hash: configuration uuid -> version with which it came to its queue, of those that moved."""
CONFIGURATION_MOVES = f"{PREFIX}:{{configurations}}:moves"
"""string: a number that grows when a configuration has come to another queue, before it leaves the old one."""
CONFIGURATION_NAMES = f"{PREFIX}:{{configurations}}:names"
"""hash: configuration name -> uuid."""
CONFIGURATION_ORDER = f"{PREFIX}:{{configurations}}:order"
"""sorted set, by name: configuration names."""
CONFIGURATION_RESERVATIONS = f"{PREFIX}:{{configurations}}:reservations"
"""hash: configuration name -> token of whoever is about to write a configuration with it."""
JOB_RULES_VERSION = f"{PREFIX}:{{configurations}}:job_rules_version"
"""string: a number that grows before and after a configuration is put that waits for the end of jobs, or a job type."""
PENDING_JOB_RULES = f"{PREFIX}:{{configurations}}:pending_job_rules"
"""hash: configuration uuid -> instant, a space, configuration (JSON), of those that are being put."""
PENDING_NAMES = f"{PREFIX}:{{configurations}}:pending_names"
"""hash: job type uuid, a space, name -> instant, of names that are being given."""
EVENT_RECORDS = f"{PREFIX}:{{events}}:records"
"""sorted set, by name: id, a space, event that was taken (JSON)."""
EVENT_QUEUES = f"{PREFIX}:{{configurations}}:event_queues"
"""set: every queue that ever had configurations."""
QUEUES = f"{PREFIX}:queues"
"""set: every queue that ever had jobs, so that those of a deleted node type are found."""
CHOSEN_IDS = f"{PREFIX}:chosen_ids"
"""sorted set: the latest ids that callers chose for jobs, by the order in which they came; on a single server."""
LOSSES = f"{PREFIX}:losses"
"""sorted set: what certainly was lost (a sentence), by when it was noticed."""
PROBE = f"{PREFIX}:probe"
"""string: a number that grows each time somebody tries whether the store can be written."""
PROBES = tuple(f"{PROBE}:{number}" for number in range(2_000))
"""The same, for the servers of a cluster: each has some of these keys, unless it has hardly any slots."""
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
