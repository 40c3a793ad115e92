"""Settings: who wins, where a value came from, and what is said about a value that cannot be meant."""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from uuid import UUID

import pytest

from rota.errors import InvalidInput
from rota.model.job_type import JobType, OnNodeDeath, Unique
from rota.model.node import NodeType
from rota.model.rate import Rate
from rota.model.runs.retry import RetryPolicy
from rota.settings import Settings, load_settings

UUID_1 = "0190a1b2-0000-7000-8000-000000000001"


def load(cwd: Path, environ: Mapping[str, str] | None = None, **cli: object) -> Settings:
    return load_settings(cli, environ or {}, None, cwd)


def load_yaml(cwd: Path, text: str, environ: Mapping[str, str] | None = None, **cli: object) -> Settings:
    (cwd / "rota.yaml").write_text(text)
    return load(cwd, environ, **cli)


def refusal(cwd: Path, text: str) -> str:
    with pytest.raises(InvalidInput) as caught:
        load_yaml(cwd, text)
    return str(caught.value)


def environment_refusal(cwd: Path, environ: Mapping[str, str]) -> str:
    with pytest.raises(InvalidInput) as caught:
        load(cwd, environ)
    return str(caught.value)


# -- who wins ------------------------------------------------------------------------------------------------------


def test_without_anything_the_defaults_hold(tmp_path: Path) -> None:
    settings = load(tmp_path)

    assert settings == Settings()
    assert (settings.store, settings.host, settings.port) == ("sqlite:///rota.db", "127.0.0.1", 23071)
    assert settings.roles == ("scheduler", "worker", "server")
    assert settings.source_of("port") == "default"


def test_the_default_of_every_setting_is_the_one_that_stands_here() -> None:
    """People rely on what they have not set."""
    expected = {
        "store": "sqlite:///rota.db",
        "owner": "",
        "sqlite_synchronous": "FULL",
        "history_max_age_days": "30",
        "history_max_count": "1000000",
        "audit_max_age_days": "365",
        "server_enabled": "True",
        "host": "127.0.0.1",
        "port": "23071",
        "api_key": "None",
        "admin_token": "None",
        "rate_limit": "20000",
        "metrics_open": "False",
        "allowed_hosts": "",
        "trusted_proxies": "",
        "tls_certificate": "None",
        "tls_key": "None",
        "max_connections": "1000",
        "event_types": "",
        "roles": "scheduler, worker, server",
        "node_type": "default",
        "thread_count": "None",
        "stop_grace_s": "25",
        "http_allow": "",
        "pass_environment": "*",
        "kafka": "",
        "kafka_input_topic": "light-scheduler",
        "kafka_partitions": "16",
        "kafka_replication": "None",
        "kafka_session_timeout_s": "10",
        "kafka_options": "",
        "advertise": "None",
        "log_level": "INFO",
        "otel": "False",
        "synchrony_keys": "True",
        "synchrony_job_keys": "False",
    }

    assert {field: value for field, value, _ in Settings().described() if field in expected} == expected


def test_a_file_beats_the_default(tmp_path: Path) -> None:
    settings = load_yaml(tmp_path, "store: sqlite:///x.db\n\nserver:\n  port: 1000\n")

    assert (settings.store, settings.port) == ("sqlite:///x.db", 1000)
    assert settings.source_of("store") == "rota.yaml:1"
    assert settings.source_of("port") == "rota.yaml:4"
    assert settings.config_file == "rota.yaml"


def test_the_environment_beats_the_file(tmp_path: Path) -> None:
    settings = load_yaml(tmp_path, "server: {port: 1000}\n", {"ROTA_PORT": "2000"})

    assert settings.port == 2000
    assert settings.source_of("port") == "ROTA_PORT"


def test_a_flag_beats_the_environment(tmp_path: Path) -> None:
    settings = load_yaml(tmp_path, "server: {port: 1000}\n", {"ROTA_PORT": "2000"}, port=3000, host=None)

    assert settings.port == 3000
    assert settings.source_of("port") == "--port"
    assert settings.source_of("host") == "default"


def test_every_setting_can_come_from_the_environment(tmp_path: Path) -> None:
    environ = {
        "ROTA_STORE": "redis://h:1/2",
        "ROTA_SQLITE_SYNCHRONOUS": "full",
        "ROTA_HISTORY_MAX_AGE_DAYS": "0.5",
        "ROTA_HISTORY_MAX_COUNT": "10",
        "ROTA_SERVER_ENABLED": "False",
        "ROTA_HOST": "::1",
        "ROTA_PORT": "0",
        "ROTA_API_KEY": "k",
        "ROTA_ADMIN_TOKEN": "t",
        "ROTA_ROLES": "worker, scheduler",
        "ROTA_NODE_TYPE": "big",
        "ROTA_THREAD_COUNT": "3",
        "ROTA_STOP_GRACE_S": "7",
        "ROTA_LOG_LEVEL": "debug",
    }

    settings = load(tmp_path, environ)

    assert settings == Settings(
        store="redis://h:1/2",
        sqlite_synchronous="FULL",
        history_max_age_days=0.5,
        history_max_count=10,
        server_enabled=False,
        host="::1",
        port=0,
        api_key="k",
        admin_token="t",
        roles=("scheduler", "worker"),
        node_type="big",
        thread_count=3,
        stop_grace_s=7.0,
        log_level="DEBUG",
        sources={name.removeprefix("ROTA_").lower(): name for name in environ},
    )


def test_every_setting_can_stand_in_the_file(tmp_path: Path) -> None:
    settings = load_yaml(
        tmp_path,
        """
        store: redis://h:1/2
        sqlite_synchronous: FULL
        history_max_age_days: 2
        history_max_count: 10
        roles: [worker]
        node_type: big
        thread_count: 3
        stop_grace_s: 7.5
        log_level: warning
        otel: true
        server: {enabled: false, host: localhost, port: 80, api_key: "12", admin_token: t}
        """,
    )

    assert (settings.store, settings.sqlite_synchronous, settings.history_max_age_days) == (
        "redis://h:1/2",
        "FULL",
        2.0,
    )
    assert (settings.history_max_count, settings.roles, settings.node_type) == (10, ("worker",), "big")
    assert (settings.thread_count, settings.stop_grace_s, settings.log_level) == (3, 7.5, "WARNING")
    assert settings.otel is True
    assert (settings.server_enabled, settings.host, settings.port) == (False, "localhost", 80)
    assert (settings.api_key, settings.admin_token) == ("12", "t")


def test_an_empty_variable_and_an_empty_key_count_as_absent(tmp_path: Path) -> None:
    settings = load_yaml(tmp_path, "server:\nlog_level:\njob_types:\n", {"ROTA_PORT": "", "STORE_TYPE": " "})

    assert (settings.port, settings.log_level, settings.store) == (23071, "INFO", "sqlite:///rota.db")


# -- seed 001's names ----------------------------------------------------------------------------------------------


def test_the_seeds_variables_name_a_redis_store(tmp_path: Path) -> None:
    cases: list[tuple[dict[str, str], str]] = [
        ({"STORE_TYPE": "redis"}, "redis://127.0.0.1:6379/0"),
        ({"REDIS_HOST": "db.internal"}, "redis://db.internal:6379/0"),
        ({"STORE_TYPE": "redis", "REDIS_PORT": "7000", "REDIS_DATABASE": "3"}, "redis://127.0.0.1:7000/3"),
        ({"STORE_TYPE": "redis", "REDIS_DATABASE": ""}, "redis://127.0.0.1:6379/0"),
        ({"REDIS_HOST": "::1"}, "redis://[::1]:6379/0"),
        ({"REDIS_HOST": "[::1]"}, "redis://[::1]:6379/0"),
        ({"STORE_TYPE": "sqlite", "REDIS_HOST": "ignored"}, "sqlite:///rota.db"),
        ({"STORE_TYPE": "redis", "REDIS_PORT": "wrong", "ROTA_STORE": "sqlite:///x.db"}, "sqlite:///x.db"),
    ]

    for environ, store in cases:
        assert load(tmp_path, environ).store == store


def test_store_type_sqlite_leaves_a_sqlite_store_of_the_file_as_it_is(tmp_path: Path) -> None:
    environ = {"STORE_TYPE": "sqlite"}

    assert load_yaml(tmp_path, "store: sqlite:///mine.db", environ).store == "sqlite:///mine.db"
    assert load_yaml(tmp_path, "store: redis://h:1/0", environ).store == "sqlite:///rota.db"


def test_the_seeds_variables_set_up_the_server_and_the_node(tmp_path: Path) -> None:
    environ = {
        "NODE_TYPE": "big",
        "HTTP_API_KEY": "k",
        "HTTP_BIND_ADDRESS": "[::]:80",
        "HTTP_SERVER_ENABLED": "false",
    }

    settings = load(tmp_path, environ)

    assert (settings.node_type, settings.api_key, settings.server_enabled) == ("big", "k", False)
    assert (settings.host, settings.port) == ("::", 80)
    assert settings.source_of("host") == "HTTP_BIND_ADDRESS"


def test_rotas_own_variables_beat_the_seeds(tmp_path: Path) -> None:
    environ = {"HTTP_BIND_ADDRESS": "0.0.0.0:80", "ROTA_PORT": "81", "NODE_TYPE": "a", "ROTA_NODE_TYPE": "b"}

    settings = load(tmp_path, environ)

    assert (settings.host, settings.port, settings.node_type) == ("0.0.0.0", 81, "b")


@pytest.mark.parametrize(
    ("environ", "words"),
    [
        ({"STORE_TYPE": "mysql"}, "STORE_TYPE: must be redis or sqlite, got 'mysql'"),
        ({"REDIS_PORT": "x"}, "REDIS_PORT: must be a number"),
        ({"REDIS_PORT": "0"}, "REDIS_PORT: must be from 1 to 65535"),
        ({"REDIS_DATABASE": "-1"}, "REDIS_DATABASE: must be from 0"),
        ({"REDIS_HOST": "a/b"}, "REDIS_HOST: 'a/b' is not a host"),
        ({"HTTP_BIND_ADDRESS": "8080"}, "HTTP_BIND_ADDRESS: must be host:port"),
        ({"HTTP_BIND_ADDRESS": "h:x"}, "HTTP_BIND_ADDRESS: must be a number"),
        ({"HTTP_SERVER_ENABLED": "maybe"}, "HTTP_SERVER_ENABLED: must be true or false"),
        ({"NODE_TYPE": "-a"}, "NODE_TYPE: '-a' is not a name"),
        ({"ROTA_PORT": "70000"}, "ROTA_PORT: must be from 0 to 65535, got 70000"),
        ({"ROTA_STORE": "rota.db"}, "ROTA_STORE: is not a URL"),
        ({"ROTA_ROLES": "worker,boss"}, "ROTA_ROLES: must be one of scheduler, worker, server, got 'boss'"),
        ({"ROTA_ROLES": ","}, "ROTA_ROLES: must be a list of"),
        ({"ROTA_STOP_GRACE_S": "nan"}, "ROTA_STOP_GRACE_S: must be a number"),
        ({"ROTA_STOP_GRACE_S": "-1"}, "ROTA_STOP_GRACE_S: must be from 0"),
        ({"ROTA_SQLITE_SYNCHRONOUS": "OFF"}, "ROTA_SQLITE_SYNCHRONOUS: must be one of NORMAL, FULL"),
        ({"ROTA_THREAD_COUNT": "0"}, "ROTA_THREAD_COUNT: must be from 1"),
    ],
)
def test_a_wrong_variable_is_named(tmp_path: Path, environ: dict[str, str], words: str) -> None:
    assert words in environment_refusal(tmp_path, environ)


@pytest.mark.parametrize(
    ("field", "low", "high"),
    [
        ("history_max_age_days", (0, -0.1), (36_500, 36_500.1)),
        ("history_max_count", (0, -1), (10**12, 10**12 + 1)),
        ("audit_max_age_days", (1, 0.9), (36_500, 36_500.1)),
        ("port", (0, -1), (65_535, 65_536)),
        ("rate_limit", (0, -0.1), (10**9, 10**9 + 1)),
        ("max_connections", (1, 0), (1_000_000, 1_000_001)),
        ("thread_count", (1, 0), (10_000, 10_001)),
        ("stop_grace_s", (0, -0.1), (86_400, 86_400.1)),
        ("kafka_partitions", (1, 0), (10_000, 10_001)),
        ("kafka_replication", (1, 0), (100, 101)),
        ("kafka_session_timeout_s", (1, 0.9), (300, 300.1)),
    ],
)
def test_numbers_of_settings_may_be_at_their_bounds_and_not_beyond(
    tmp_path: Path, field: str, low: tuple[float, float], high: tuple[float, float]
) -> None:
    name = f"ROTA_{field.upper()}"

    for within, beyond in (low, high):
        assert getattr(load(tmp_path, {name: str(within)}), field) == within
        assert environment_refusal(tmp_path, {name: str(beyond)}).startswith(f"{name}: must be from ")


def test_a_wrong_flag_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="--thread-count: must be from 1"):
        load(tmp_path, thread_count=0)


# -- which file ----------------------------------------------------------------------------------------------------


def test_a_table_in_pyproject_is_a_file_too(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "x"\n[tool.rota.server]\nport = 1000\n')

    settings = load(tmp_path)

    assert settings.port == 1000
    assert settings.source_of("port") == "pyproject.toml:4"


def test_a_pyproject_without_the_table_is_not_ours(tmp_path: Path) -> None:
    for text in ('[project]\nname = "x"\n', '[project]\nname = "rota"\n', "rota is not valid TOML"):
        (tmp_path / "pyproject.toml").write_text(text)

        assert load(tmp_path).config_file is None


def test_two_files_are_one_too_many_unless_one_is_named(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.rota.server]\nport = 1000\n")

    assert "both exist" in refusal(tmp_path, "server: {port: 2000}")
    assert load_settings({}, {}, Path("rota.yaml"), tmp_path).port == 2000
    assert load_settings({}, {"ROTA_CONFIG": "pyproject.toml"}, None, tmp_path).port == 1000


def test_a_named_file_must_be_there_and_of_a_known_kind(tmp_path: Path) -> None:
    (tmp_path / "rota.ini").write_text("")

    with pytest.raises(InvalidInput, match=r"--config: there is no file .*none\.yaml"):
        load_settings({}, {}, Path("none.yaml"), tmp_path)
    with pytest.raises(InvalidInput, match=r"ROTA_CONFIG: rota\.ini must be a \.yaml"):
        load_settings({}, {"ROTA_CONFIG": "rota.ini"}, None, tmp_path)


def test_without_a_file_yaml_is_not_even_imported(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from rota.settings import load_settings\n"
        "load_settings({}, {}, None, Path.cwd())\n"
        "assert not {'yaml', 'tomllib', 'difflib'} & set(sys.modules)"
    )

    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True)


# -- strict YAML ---------------------------------------------------------------------------------------------------


def test_an_unknown_key_is_refused_with_its_line_and_the_nearest_known_key(tmp_path: Path) -> None:
    assert refusal(tmp_path, "store: sqlite:///x.db\nsever: {}\n") == (
        "rota.yaml:2: sever: is not a known key; did you mean 'server'?"
    )
    assert refusal(tmp_path, "server:\n  host: h\n  prot: 1\n") == (
        "rota.yaml:3: server.prot: is not a known key; did you mean 'port'?"
    )
    assert refusal(tmp_path, "job_types:\n- name: a\n  executor: bash\n  retries:\n    attempt: 3\n") == (
        "rota.yaml:5: job_types[0].retries.attempt: is not a known key; did you mean 'attempts'?"
    )
    assert "known are store, " in refusal(tmp_path, "zzz: 1")


def test_a_key_that_is_on_several_lines_of_toml_is_named_without_a_line(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(
        '[tool.rota]\nstore = "redis://h:1/0"\n'
        '[[tool.rota.node_types]]\nname = "a"\n[[tool.rota.node_types]]\nname = ".b"\n'
    )

    with pytest.raises(InvalidInput, match=r"^pyproject\.toml: node_types\[1\]\.name: '\.b' is not a name"):
        load(tmp_path)


def test_an_unknown_key_in_toml_is_refused_too(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.rota]\nstore = "sqlite:///x.db"\n[tool.rota.server]\nprot = 1\n')

    with pytest.raises(InvalidInput, match=r"^pyproject\.toml:4: server\.prot: .* 'port'\?$"):
        load(tmp_path)


def test_words_that_yaml_1_1_reads_as_booleans_numbers_and_dates_are_text(tmp_path: Path) -> None:
    values = "[on, no, Yes, 12:30:00, 2024-01-01, 1_000, =, <<]"

    settings = load_yaml(tmp_path, f"job_types: [{{name: a, executor: bash, metadata: {{on: {values}}}}}]")

    expected = ["on", "no", "Yes", "12:30:00", "2024-01-01", "1_000", "=", "<<"]
    assert settings.job_types[0].metadata == {"on": expected}


def test_scalars_are_those_of_yaml_1_2(tmp_path: Path) -> None:
    values = "[true, FALSE, null, ~, 012, -7, 0x1F, 0o17, 1.5, 1e3, .5, '1', \"true\", !!str 2]"

    settings = load_yaml(tmp_path, f"job_types: [{{name: a, executor: bash, metadata: {{x: {values}}}}}]")

    expected = [True, False, None, None, 12, -7, 31, 15, 1.5, 1000.0, 0.5, "1", "true", "2"]
    assert settings.job_types[0].metadata == {"x": expected}


def test_a_key_that_stands_twice_is_refused(tmp_path: Path) -> None:
    assert refusal(tmp_path, "server:\n  port: 1\n  port: 2\n") == (
        "rota.yaml:3: the key 'port' stands twice, first on line 2"
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("- a\n", "rota.yaml: must be a mapping"),
        ("a: [\n", "rota.yaml:2: is not valid YAML"),
        ("a: 1\n---\nb: 2\n", "is not valid YAML"),
        ("1: x\n", "rota.yaml:1: the key 1 must be text"),
        ("server: &s {host: *s}\n", "rota.yaml:1: a value cannot contain itself"),
        (
            "store: !!python/object:os.system x\n",
            "rota.yaml:1: the tag tag:yaml.org,2002:python/object:os.system is not",
        ),
        ("store: !!set {a}\n", "rota.yaml:1: the tag tag:yaml.org,2002:set is not"),
        ("thread_count: !!int abc\n", "rota.yaml:1: 'abc' is not a number"),
        ("x: " + "[" * 5000, "rota.yaml"),
        ("x: \0", "rota.yaml: is not valid YAML"),
        ("server: [1]\n", "rota.yaml:1: server: must be a mapping"),
        ("\nserver: {port: '80'}\n", "rota.yaml:2: server.port: must be a whole number, got '80'"),
        ("server: {api_key: 12}\n", "server.api_key: must be text and not empty; put quotes around digits"),
        ("server: {enabled: on}\n", "server.enabled: must be true or false, got 'on'"),
        ("roles: worker\n", "roles: must be a list"),
        ("stop_grace_s: .inf\n", "stop_grace_s: must be a number"),
        ("stop_grace_s: true\n", "stop_grace_s: must be a number, got True"),
        ("http_allow: ['', a]\n", "rota.yaml:1: http_allow: must not be empty"),
        ("server:\n  tls_key: ' '\n", "rota.yaml:2: server.tls_key: must not be empty"),
        ("schedules: {}\n", "rota.yaml:1: schedules: must be a list"),
        ("schedules:\n  - {job_type: a, cron: '* * * * *'}\n", "rota.yaml:2: schedules[0]: needs the key 'name'"),
        ("schedules:\n  - name: n\n    job_type: a\n    cron: '61 * * * *'\n", "rota.yaml:4: schedules[0].cron: "),
        ("schedules:\n  - name: n\n    job_type: a\n    cron: 5\n", "rota.yaml:4: schedules[0].cron: Expected `str"),
        ("schedules:\n  - name: n\n    job_type: a\n    crn: x\n", "rota.yaml:4: schedules[0].crn: is not a known key"),
        ("schedules:\n  - {name: n, job_type: a}\n", "rota.yaml:2: schedules[0]: give exactly one of cron"),
        (
            "schedules:\n  - name: n\n    job_type: a\n    interval: 5m\n    start: 2026-02-01\n    end: 2026-01-01\n",
            "rota.yaml:6: schedules[0].end: ",
        ),
        (
            "schedules:\n  - name: n\n    job_type: a\n    interval: 5m\n    tz: America/NewYork\n",
            "did you mean America/New_York?",
        ),
        (
            "schedules:\n- {name: n, job_type: a, every: 5m}\n- {name: n, job_type: b, every: 1h}\n",
            "rota.yaml:3: schedules[1]: has the same name as rota.yaml:2: schedules[0]",
        ),
        (
            "configurations:\n"
            "- {name: n, dependencies: [{type: FILE, resourceId: /a, lifeDuration: 1}]}\n"
            "- {name: n, dependencies: [{type: FILE, resourceId: /b, lifeDuration: 1}]}\n",
            "rota.yaml:3: configurations[1]: has the same name as rota.yaml:2: configurations[0]",
        ),
        (
            "configurations:\n- name: n\n  dependencies:\n  - type: FILE\n    resourceId: /a\n    lifeDuration: -1\n",
            "rota.yaml:6: configurations[0].dependencies[0].lifeDuration: ",
        ),
        (
            "configurations:\n- name: n\n  dependencies:\n  - type: FILE\n    resourceId: /a\n",
            "rota.yaml:4: configurations[0].dependencies[0].lifeDuration: ",
        ),
    ],
)
def test_a_wrong_file_is_refused_with_file_and_line(tmp_path: Path, text: str, words: str) -> None:
    assert words in refusal(tmp_path, text)


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "rota.yaml").write_bytes(b"store: \xff\n")

    with pytest.raises(InvalidInput, match=r"rota\.yaml: is not UTF-8 text: byte 7"):
        load(tmp_path)


# -- definitions ---------------------------------------------------------------------------------------------------


def test_definitions_become_values_of_the_model(tmp_path: Path) -> None:
    uuid = "0190a1b2-0000-7000-8000-000000000001"
    settings = load_yaml(
        tmp_path,
        f"""
        node_types: [{{name: default, thread_count: 4, uuid: {uuid.upper()}}}]
        job_types:
          - name: report
            uuid: {uuid}
            executor: bash
            metadata: {{command: ["./report.sh"]}}
            node_type: default
            timeout: 60000
            unique: while_pending
            retries: {{attempts: 3, delay_ms: 10, factor: 3, max_delay_ms: 100, jitter: 0}}
            on_node_death: fail
            rate: 10/m
            rate_key: "{{host}}"
        """,
    )

    assert settings.node_types == (NodeType(uuid=uuid, name="default", thread_count=4, managed_by="file"),)
    assert settings.job_types == (
        JobType(
            uuid=uuid,
            name="report",
            executor="bash",
            metadata={"command": ["./report.sh"]},
            node_type="default",
            timeout_ms=60_000,
            unique=Unique.WHILE_PENDING,
            retry=RetryPolicy(attempts=3, delay_ms=10, factor=3.0, max_delay_ms=100, jitter=0.0),
            on_node_death=OnNodeDeath.FAIL,
            rate=Rate(10, 60_000),
            rate_key="{host}",
            managed_by="file",
        ),
    )
    assert settings.source_of("job_types") == "rota.yaml:3"


def test_unique_may_be_a_boolean(tmp_path: Path) -> None:
    text = "job_types: [{name: a, executor: log, unique: true}, {name: b, executor: log, unique: false}]"

    assert [job_type.unique for job_type in load_yaml(tmp_path, text).job_types] == [Unique.WHILE_RUNNING, Unique.NONE]


def test_a_definition_without_a_uuid_gets_the_same_one_at_every_start(tmp_path: Path) -> None:
    text = "node_types: [{name: a}]\njob_types: [{name: a, executor: log}, {name: b, executor: log}]\n"

    first, second = load_yaml(tmp_path, text), load_yaml(tmp_path, text)

    uuids = [first.node_types[0].uuid, first.job_types[0].uuid, first.job_types[1].uuid]
    assert uuids == [second.node_types[0].uuid, second.job_types[0].uuid, second.job_types[1].uuid]
    assert len(set(uuids)) == 3
    assert {UUID(uuid).version for uuid in uuids} == {5}
    assert first.node_types[0].uuid == "2237db45-172b-57ce-af12-5026e0d5c9bb"


def test_definitions_can_stand_in_toml(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(
        '[[tool.rota.job_types]]\nname = "a"\nexecutor = "log"\nmetadata = {day = 2024-01-01, command = ["x"]}\n'
    )

    assert load(tmp_path).job_types[0].metadata == {"day": "2024-01-01", "command": ["x"]}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("job_types: {}\n", "rota.yaml:1: job_types: must be a list"),
        ("job_types:\n- 1\n", "rota.yaml:2: job_types[0]: must be a mapping"),
        ("job_types:\n- name: a\n", "rota.yaml:2: job_types[0]: needs the key 'executor'"),
        ("job_types: [{name: .a, executor: x}]\n", "job_types[0].name: '.a' is not a name"),
        ("job_types: [{name: a, executor: x, uuid: 1}]\n", "job_types[0].uuid: must be text"),
        ("job_types: [{name: a, executor: x, uuid: zz}]\n", "job_types[0].uuid: 'zz' is not a UUID"),
        ("job_types: [{name: a, executor: x, timeout: 0}]\n", "job_types[0].timeout: must be from 1"),
        ("job_types: [{name: a, executor: x, timeout: 1.5}]\n", "job_types[0].timeout: must be a duration such as 90s"),
        ("job_types: [{name: a, executor: x, metadata: []}]\n", "job_types[0].metadata: must be a mapping"),
        ("job_types: [{name: a, executor: x, metadata: {y: .nan}}]\n", "metadata.y: is nan"),
        ("job_types: [{name: a, executor: x, unique: always}]\n", "job_types[0].unique: must be one of none, while"),
        ("job_types: [{name: a, executor: x, on_node_death: x}]\n", "on_node_death: must be one of requeue, fail"),
        ("job_types: [{name: a, executor: x, retries: 3}]\n", "job_types[0].retries: must be a mapping"),
        ("job_types: [{name: a, executor: x, retries: {jitter: 2}}]\n", "retries.jitter: must be from 0 to 1, got 2"),
        ("node_types: [{name: a, thread_count: 0}]\n", "node_types[0].thread_count: must be from 1"),
        (
            "node_types:\n- name: a\n- name: a\n",
            "rota.yaml:3: node_types[1]: has the same name as rota.yaml:2: node_types[0]",
        ),
        (
            f"job_types:\n- {{name: a, executor: x, uuid: {UUID_1}}}\n- {{name: b, executor: x, uuid: {UUID_1}}}\n",
            "rota.yaml:3: job_types[1]: has the same uuid as rota.yaml:2: job_types[0]",
        ),
    ],
)
def test_a_wrong_definition_is_refused_with_file_and_line(tmp_path: Path, text: str, words: str) -> None:
    assert words in refusal(tmp_path, text)


@pytest.mark.parametrize(
    ("section", "entry", "low", "high"),
    [
        ("node_types", "{name: a, thread_count: %s}", (1, 0), (10_000, 10_001)),
        ("job_types", "{name: a, executor: x, timeout: %s}", (1, 0), (31_536_000_000, 31_536_000_001)),
        ("job_types", "{name: a, executor: x, retries: {attempts: %s}}", (1, 0), (1_000, 1_001)),
        ("job_types", "{name: a, executor: x, retries: {delay_ms: %s}}", (0, -1), (2_592_000_000, 2_592_000_001)),
        ("job_types", "{name: a, executor: x, retries: {max_delay_ms: %s}}", (0, -1), (2_592_000_000, 2_592_000_001)),
        ("job_types", "{name: a, executor: x, retries: {factor: %s}}", (1, 0.99), (100, 100.01)),
        ("job_types", "{name: a, executor: x, retries: {jitter: %s}}", (0, -0.01), (1, 1.01)),
    ],
)
def test_numbers_of_definitions_may_be_at_their_bounds_and_not_beyond(
    tmp_path: Path, section: str, entry: str, low: tuple[float, float], high: tuple[float, float]
) -> None:
    for within, beyond in (low, high):
        load_yaml(tmp_path, f"{section}: [{entry % within}]\n")
        assert f"must be from {low[0]} " in refusal(tmp_path, f"{section}: [{entry % beyond}]\n")


@pytest.mark.parametrize("line", ["interval: 90s", "every: 90s", "interval: 90000", "every: 90000"])
def test_every_and_interval_are_the_same(tmp_path: Path, line: str) -> None:
    (one,) = load_yaml(tmp_path, f"schedules: [{{name: poll, job_type: a, {line}, arguments: {{x: 1}}}}]\n").schedules

    assert one.interval in ("90s", 90_000)
    assert one.job_arguments == {"x": 1}


def test_another_word_is_named_where_it_is_written(tmp_path: Path) -> None:
    said = refusal(tmp_path, "schedules:\n- name: poll\n  job_type: a\n  every: soon\n")

    assert 'rota.yaml:4: schedules[0].interval: "soon" is not a duration' in said


# -- showing them --------------------------------------------------------------------------------------------------


def test_secrets_are_masked_wherever_settings_are_shown(tmp_path: Path) -> None:
    settings = load(
        tmp_path,
        {
            "ROTA_API_KEY": "hunter2",
            "ROTA_ADMIN_TOKEN": "hunter2",
            "ROTA_STORE": "redis://me:hunter2@h:1/0?sentinel_password=hunter2&x=1&password=hunter2",
        },
    )

    shown = {field: (value, source) for field, value, source in settings.described()}
    assert shown["api_key"] == ("***", "ROTA_API_KEY")
    assert shown["store"] == ("redis://me:***@h:1/0?sentinel_password=***&x=1&password=***", "ROTA_STORE")
    assert shown["stop_grace_s"] == ("25", "default")
    assert "hunter2" not in repr(settings) + str(settings) + str(settings.described())


def test_a_refused_secret_is_not_repeated(tmp_path: Path) -> None:
    assert "12345" not in refusal(tmp_path, "server: {api_key: 12345}")
    assert "hunter2" not in environment_refusal(tmp_path, {"ROTA_STORE": "me:hunter2@host"})


def test_aliases_that_mean_a_billion_values_are_refused_and_a_few_are_not(tmp_path: Path) -> None:
    lines = ["a0: &a0 [" + ", ".join(["x"] * 10) + "]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]
    metadata = "".join(f"      {line}\n" for line in lines)
    bomb = f"job_types:\n  - name: a\n    executor: log\n    metadata:\n{metadata}"
    shared = "job_types: [{name: a, executor: log, metadata: &m {x: [1, 2]}}, {name: b, executor: log, metadata: *m}]"

    assert "rota.yaml:10: is more than 1,000,000 values, as its aliases repeat them" in refusal(tmp_path, bomb)
    assert [one.metadata for one in load_yaml(tmp_path, shared).job_types] == [{"x": [1, 2]}] * 2


def test_names_and_proxies_of_a_server_are_checked(tmp_path: Path) -> None:
    good = load_yaml(
        tmp_path, "server: {allowed_hosts: [rota.example.com, '*.internal', '*'], trusted_proxies: [10.0.0.0/8]}"
    )

    assert good.allowed_hosts == ("rota.example.com", "*.internal", "*")
    assert good.trusted_proxies == ("10.0.0.0/8",)
    for wrong in ("rota.example.com:80", "http://rota", "a b", "a.*.b"):
        assert "is not a host name" in refusal(tmp_path, f"server: {{allowed_hosts: ['{wrong}']}}")
    assert "no address or network" in refusal(tmp_path, "server: {trusted_proxies: [proxy]}")
    assert "from 1 to" in refusal(tmp_path, "server: {max_connections: 0}")


def test_a_file_is_owned_by_its_folder_its_project_or_by_whom_it_says(tmp_path: Path) -> None:
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "rota.yaml").write_text("node_types: [{name: big}]")
    by_folder = load_settings({}, {}, None, folder)
    (folder / "rota.yaml").write_text("owner: bank")
    by_word = load_settings({}, {}, None, folder)
    (folder / "rota.yaml").unlink()
    (folder / "pyproject.toml").write_text('[project]\nname = "market"\n[tool.rota]\notel = false\n')
    by_project = load_settings({}, {}, None, folder)

    assert [one.owner for one in (by_folder, by_word, by_project)] == ["shop", "bank", "market"]
    assert load_settings({}, {}, None, tmp_path).owner == ""


def test_a_project_whose_name_is_no_text_owns_nothing_by_it(tmp_path: Path) -> None:
    """What else is wrong with its file is for others to say."""
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 5\n[tool.rota]\notel = false\n")

    assert load_settings({}, {}, None, tmp_path).owner == tmp_path.name


def test_an_owner_has_so_many_characters_at_most_and_a_longer_folder_is_cut(tmp_path: Path) -> None:
    folder = tmp_path / ("f" * 200)
    folder.mkdir()
    (folder / "rota.yaml").write_text("node_types: [{name: big}]")

    assert load_settings({}, {}, None, folder).owner == "f" * 128
    assert load_yaml(tmp_path, f"owner: ' {'o' * 128} '").owner == "o" * 128
    assert "owner: must have at most 128 characters, got 129" in refusal(tmp_path, f"owner: {'o' * 129}")


def test_kafka_has_a_section_of_its_own_and_its_options_are_secrets(tmp_path: Path) -> None:
    settings = load_yaml(
        tmp_path,
        """
        server: {advertise: "https://rota.example.com"}
        kafka:
          brokers: ["kafka1:9092", "SASL_SSL://[::1]:9093"]
          input_topic: tasks
          partitions: 4
          replication: 3
          session_timeout_s: 20
          options: ["sasl.username=me", "sasl.password=let=me=in"]
        """,
    )

    assert settings.kafka == ("kafka1:9092", "SASL_SSL://[::1]:9093")
    assert (settings.kafka_input_topic, settings.kafka_partitions, settings.kafka_replication) == ("tasks", 4, 3)
    assert (settings.kafka_session_timeout_s, settings.advertise) == (20.0, "https://rota.example.com")
    assert settings.kafka_options == ("sasl.username=me", "sasl.password=let=me=in")
    assert "let=me=in" not in repr(settings)
    assert load(tmp_path, {"ROTA_KAFKA": "a:1, b:2"}).kafka == ("a:1", "b:2")
    assert "is no broker" in refusal(tmp_path, "kafka: {brokers: [kafka1]}")
    assert "let=me" not in refusal(tmp_path, "kafka: {options: [password]}")
    assert "did you mean 'brokers'?" in refusal(tmp_path, "kafka: {broker: []}")
