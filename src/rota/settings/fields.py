"""Every setting once: where it is in the file, and what its value must be.

Its flag is `--port` and its environment variable `ROTA_PORT` for the field `port`, and so on. In the file it has the
name of the field too, but for those of the server and of Kafka, which have sections of their own.
"""

from collections.abc import Callable

from msgspec import Struct

from rota.model.node import MAX_THREADS
from rota.model.topics.topic import check_topic
from rota.settings import values
from rota.settings.settings import ROLES
from rota.settings.values import Check

_MAX_PORT = 65_535
_DAY_S = 24 * 3600


class Field(Struct, frozen=True):
    """What a value must be, and how it is read from an environment variable."""

    check: Check
    read: Callable[[str, str], object] = values.read_text


FIELDS: dict[str, Field] = {
    "store": Field(values.url),
    "owner": Field(values.short_text),
    "sqlite_synchronous": Field(values.one_of(["NORMAL", "FULL"])),
    "history_max_age_days": Field(values.number(0, 36_500), values.read_number),
    "history_max_count": Field(values.whole(0, 10**12), values.read_whole),
    "audit_max_age_days": Field(values.number(1, 36_500), values.read_number),
    "server_enabled": Field(values.flag, values.read_flag),
    "host": Field(values.host),
    "port": Field(values.whole(0, _MAX_PORT), values.read_whole),
    "api_key": Field(values.secret),
    "admin_token": Field(values.secret),
    "rate_limit": Field(values.number(0, 10**9), values.read_number),
    "metrics_open": Field(values.flag, values.read_flag),
    "allowed_hosts": Field(values.host_names, values.read_words),
    "trusted_proxies": Field(values.networks, values.read_words),
    "tls_certificate": Field(values.text),
    "tls_key": Field(values.text),
    "max_connections": Field(values.whole(1, 1_000_000), values.read_whole),
    "event_types": Field(values.event_types, values.read_words),
    "roles": Field(values.some_of(ROLES), values.read_words),
    "node_type": Field(values.name),
    "thread_count": Field(values.whole(1, MAX_THREADS), values.read_whole),
    "stop_grace_s": Field(values.number(0, _DAY_S), values.read_number),
    "http_allow": Field(values.texts, values.read_words),
    "pass_environment": Field(values.texts, values.read_words),
    "synchrony_keys": Field(values.flag, values.read_flag),
    "synchrony_job_keys": Field(values.flag, values.read_flag),
    "kafka": Field(values.brokers, values.read_words),
    "kafka_input_topic": Field(check_topic),
    "kafka_partitions": Field(values.whole(1, 10_000), values.read_whole),
    "kafka_replication": Field(values.whole(1, 100), values.read_whole),
    "kafka_session_timeout_s": Field(values.number(1, 300), values.read_number),
    "kafka_options": Field(values.options, values.read_words),
    "advertise": Field(values.url),
    "log_level": Field(values.one_of(["DEBUG", "INFO", "WARNING", "ERROR"])),
    "otel": Field(values.flag, values.read_flag),
}

SERVER_KEYS = {"enabled": "server_enabled"} | {
    key: key
    for key in (
        "host",
        "port",
        "api_key",
        "admin_token",
        "rate_limit",
        "metrics_open",
        "allowed_hosts",
        "trusted_proxies",
        "tls_certificate",
        "tls_key",
        "max_connections",
        "advertise",
    )
}
"""Key in the section `server` to field."""
KAFKA_KEYS = {"brokers": "kafka"} | {
    key: f"kafka_{key}" for key in ("input_topic", "partitions", "replication", "session_timeout_s", "options")
}
"""Key in the section `kafka` to field."""
SECTIONS = {"server": SERVER_KEYS, "kafka": KAFKA_KEYS}
_IN_SECTIONS = {field for keys in SECTIONS.values() for field in keys.values()}
TOP_KEYS = {field: field for field in FIELDS if field not in _IN_SECTIONS}
"""Key at the top of the file to field."""
