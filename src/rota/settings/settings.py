"""The settings of one process, and where each of them came from."""

from typing import TYPE_CHECKING

from msgspec import Struct

from rota.model.access.masking import MASK, mask_url
from rota.model.job_type import JobType
from rota.model.node import NodeType

if TYPE_CHECKING:
    # Reading schedules takes the whole calendar, and only a file has them.
    from rota.model.events.configuration_request import ConfigurationRequest
    from rota.model.schedules.request import ScheduleRequest

ROLES = ("scheduler", "worker", "server")
SECRETS = frozenset({"api_key", "admin_token", "kafka_options"})
DEFAULT = "default"


class Settings(Struct, frozen=True, kw_only=True):
    """How one process is set up. A flag beats the environment, which beats the file, which beats the default."""

    store: str = "sqlite:///rota.db"
    """URL of the store. A relative file is relative to the working directory."""
    owner: str = ""
    """Whose the definitions of the file are. By default the name of its project: that of `pyproject.toml`, or of the
    folder in which the file is. Without a file it is empty."""
    sqlite_synchronous: str = "FULL"
    """With `FULL` a power cut costs nothing, at the price of a disk flush per commit; with `NORMAL` the last second."""
    history_max_age_days: float = 30.0
    """Ended jobs are forgotten after this long."""
    history_max_count: int = 1_000_000
    """Ended jobs kept per queue; the oldest go first."""

    audit_max_age_days: float = 365.0
    """Changes are forgotten by the audit log after this long."""

    server_enabled: bool = True
    host: str = "127.0.0.1"
    port: int = 23071
    """0 takes any free port."""
    api_key: str | None = None
    admin_token: str | None = None
    """For `/tasks`; absent means the API key."""
    rate_limit: float = 20_000.0
    """Requests per second that the server takes of one key; 0 for no limit."""
    metrics_open: bool = False
    """Whether `/metrics` answers without a key."""
    allowed_hosts: tuple[str, ...] = ()
    """Names under which the server answers beside those of loopback and of its address; `*` for any."""
    trusted_proxies: tuple[str, ...] = ()
    """Addresses and networks of proxies that are believed when they say for whom they ask."""
    tls_certificate: str | None = None
    """A PEM file with the certificate of the server and those between it and its root; then it speaks HTTPS only."""
    tls_key: str | None = None
    """A PEM file with its private key; absent means that it is in the file of the certificate."""
    max_connections: int = 1_000
    """Connections that the server holds; never more than half the descriptors of its process."""

    event_types: tuple[str, ...] = ()
    """Event types beyond FILE, TABLE, TIME_BASED and JOB; `*` for any."""
    roles: tuple[str, ...] = ROLES
    node_type: str = "default"
    """Name of the node type that this process serves."""
    thread_count: int | None = None
    """Jobs at a time in this process; absent means what the node type says."""
    stop_grace_s: float = 25.0
    """Time for running jobs to end after a first TERM. Under the 30 s that most supervisors give before they kill."""
    http_allow: tuple[str, ...] = ()
    """Hosts and networks that `http` jobs may reach although they are not public."""
    pass_environment: tuple[str, ...] = ("*",)
    """Variables of the node that its commands and Python processes inherit; `*` at the end stands for any rest. Rota's
    own are never among them."""
    kafka: tuple[str, ...] = ()
    """Brokers; with them Kafka keeps the task definitions of the light scheduler, and the store is in memory unless one
    is named."""
    kafka_input_topic: str = "light-scheduler"
    """The topic of commands; the other topics, and the consumer group, are named after it."""
    kafka_partitions: int = 16
    """Of topics that are made because they are missing."""
    kafka_replication: int | None = None
    """Of topics that are made; absent means what the brokers have as their default."""
    kafka_session_timeout_s: float = 10.0
    """When an instance dies, others serve its partitions within this time."""
    kafka_options: tuple[str, ...] = ()
    """Options of librdkafka, each as `name=value`, such as those for TLS and SASL."""
    advertise: str | None = None
    """The URL at which other instances reach this server; absent means the address on which it listens."""
    log_level: str = "INFO"
    otel: bool = False
    """Tell OpenTelemetry what the node does. Where that goes, the OTEL_* variables say to the SDK of the process."""

    synchrony_keys: bool = True
    """Speak through Synchrony's own Redis keys too. Without effect on SQLite and Redis Cluster."""
    synchrony_job_keys: bool = False
    """Show every job in Synchrony's keys, which costs writes for each."""

    node_types: tuple[NodeType, ...] = ()
    """What is defined in the file, which owns them."""
    job_types: tuple[JobType, ...] = ()
    """What is defined in the file, which owns them."""

    schedules: "tuple[ScheduleRequest, ...]" = ()
    """What is defined in the file, which owns them."""
    configurations: "tuple[ConfigurationRequest, ...]" = ()
    """What is defined in the file, which owns them."""

    places: dict[str, dict[str, str]] = {}
    """Where each key of a job type is in the file, by the job type's name."""
    sections: dict[str, object] = {}
    """What the sections of dialects say, by the name of each."""

    config_file: str | None = None
    """The file that was read, if there was one."""
    sources: dict[str, str] = {}
    """Where a value came from, for each field that is not the default."""

    def source_of(self, field: str) -> str:
        """Where a value came from: `--port`, `ROTA_PORT`, `rota.yaml:3` or `default`."""
        return self.sources.get(field, DEFAULT)

    def described(self) -> list[tuple[str, str, str]]:
        """Name, value and source of every setting, for people. Secrets are masked."""
        return [(field, self._shown(field), self.source_of(field)) for field in _SHOWN_FIELDS]

    def __repr__(self) -> str:
        return f"Settings({', '.join(f'{field}={shown}' for field, shown, _ in self.described())})"

    def _shown(self, field: str) -> str:
        value = getattr(self, field)
        if field in SECRETS and value:
            return MASK
        if field == "store":
            return mask_url(self.store)
        if isinstance(value, tuple):
            return ", ".join(str(getattr(item, "name", item)) for item in value)
        return f"{value:g}" if isinstance(value, float) else str(value)


_NOT_SHOWN = ("config_file", "places", "sources", "sections")
_SHOWN_FIELDS = tuple(field for field in Settings.__struct_fields__ if field not in _NOT_SHOWN)
