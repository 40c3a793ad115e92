"""What the settings of a node make of its light scheduler on Kafka, without brokers."""

import hmac
import socket
from pathlib import Path

import pytest
from msgspec import structs

from rota.engine.access.keys.admin_key import KeyPlan
from rota.host.kafka import _peer_key, _stream_options, advertised, without_store
from rota.host.kafka_checks import check_kafka
from rota.settings import Settings, load_settings

ANY_MACHINE = KeyPlan(made=None, configured=None, allows_dev_key=False)
THIS_MACHINE = KeyPlan(made=None, configured=None, allows_dev_key=True)


@pytest.mark.parametrize(
    ("host", "advertise", "told"),
    [
        ("127.0.0.1", None, "https://127.0.0.1:8000"),
        ("node.example.com", None, "https://127.0.0.1:8000"),
        ("0.0.0.0", None, f"https://{socket.gethostname()}:8000"),
        ("::", None, f"https://{socket.gethostname()}:8000"),
        ("0.0.0.0", "https://rota.example.com/", "https://rota.example.com"),
        ("127.0.0.1", "https://rota.example.com", "https://rota.example.com"),
    ],
)
def test_other_instances_are_told_where_they_reach_this_one(host: str, advertise: str | None, told: str) -> None:
    """Nobody reaches another machine at 0.0.0.0."""
    assert advertised(Settings(host=host, advertise=advertise), "https://127.0.0.1:8000") == told


@pytest.mark.parametrize(
    ("api_key", "plan", "told"),
    [
        (None, THIS_MACHINE, "dev_key"),
        (None, ANY_MACHINE, ""),
        ("dev_key", THIS_MACHINE, "dev_key"),
        ("dev_key", ANY_MACHINE, ""),
        ("chosen", ANY_MACHINE, hmac.new(b"chosen", b"rota light scheduler", "sha256").hexdigest()),
        ("chosen", THIS_MACHINE, hmac.new(b"chosen", b"rota light scheduler", "sha256").hexdigest()),
    ],
)
def test_instances_ask_each_other_with_a_key_that_tells_nothing_of_the_admins(
    api_key: str | None, plan: KeyPlan, told: str
) -> None:
    assert _peer_key(Settings(api_key=api_key), plan) == told


@pytest.mark.parametrize(
    ("words", "store"),
    [
        ({"ROTA_KAFKA": "localhost:9092"}, "sqlite://:memory:"),
        ({"ROTA_KAFKA": "localhost:9092", "ROTA_STORE": "sqlite:///kept.db"}, "sqlite:///kept.db"),
        ({}, Settings().store),
    ],
)
def test_with_kafka_nothing_is_written_to_the_disk_unless_a_store_is_named(
    folder: Path, words: dict[str, str], store: str, caplog: pytest.LogCaptureFixture
) -> None:
    settings = without_store(load_settings({}, words, None, folder))

    assert settings.store == store
    assert ("are in memory until --store names a place" in caplog.text) is (store == "sqlite://:memory:")


def test_each_setting_reaches_the_stream() -> None:
    settings = Settings(
        kafka=("a:1", "b:2"),
        kafka_input_topic="commands",
        kafka_partitions=3,
        kafka_replication=2,
        kafka_session_timeout_s=20.0,
        kafka_options=("sasl.username=me", "sasl.password=a=b"),
    )

    options = _stream_options(settings)

    assert structs.asdict(options) == {
        "brokers": ("a:1", "b:2"),
        "input_topic": "commands",
        "partitions": 3,
        "replication": 2,
        "session_timeout_s": 20.0,
        "client_options": {"sasl.username": "me", "sasl.password": "a=b"},
        "address": "",
        "peer_key": "",
    }


def test_where_no_brokers_are_named_the_doctor_says_nothing_of_them() -> None:
    assert [*check_kafka(Settings())] == []
