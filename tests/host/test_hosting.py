"""What is opened for a node, what is refused before that, and what is left when it is closed."""

from pathlib import Path

import pytest

from rota.engine.node.options import SCHEDULER, WORKER
from rota.errors import InvalidInput, NotFound, RotaError
from rota.host.file_watch import FileWatch
from rota.host.host import SERVER, Host
from rota.host.hosting import hosted
from rota.settings import Settings, load_settings
from rota.store import Store, open_store
from tests.ports import free_port

DEFINED = "job_types: [{name: report, executor: log}]\n"
NOTHING = "log_level: INFO\n"
OWNER = {"ROTA_OWNER": "shop"}


def settings_of(folder: Path, text: str) -> Settings:
    (folder / "rota.yaml").write_text(text)
    return load_settings({}, OWNER, None, folder)


def job_types(host: Host) -> list[str]:
    return [one.name for one in host.engine.definitions.job_types()]


@pytest.mark.parametrize(("role", "left"), [(WORKER, ["report"]), (SERVER, ["report"]), (SCHEDULER, [])])
def test_a_file_without_definitions_removes_them_only_where_a_scheduler_runs(
    folder: Path, role: str, left: list[str]
) -> None:
    with hosted(settings_of(folder, DEFINED), frozenset({WORKER})) as host:
        assert job_types(host) == ["report"]

    settings = settings_of(folder, NOTHING + "server: {port: 0}\n")
    with hosted(settings, frozenset({role})) as host:
        assert job_types(host) == left


def test_without_a_file_a_scheduler_removes_nothing(folder: Path) -> None:
    with hosted(settings_of(folder, DEFINED), frozenset({SCHEDULER})):
        (folder / "rota.yaml").unlink()

    with hosted(load_settings({}, OWNER, None, folder), frozenset({SCHEDULER})) as host:
        assert job_types(host) == ["report"]


@pytest.mark.parametrize(
    ("role", "text", "reads_again", "watches"),
    [
        (SCHEDULER, DEFINED, True, True),
        (SCHEDULER, DEFINED, False, False),
        (SCHEDULER, None, True, False),
        (WORKER, DEFINED, True, False),
    ],
)
def test_only_a_scheduler_with_a_file_looks_whether_it_changes(
    folder: Path, role: str, text: str | None, reads_again: bool, watches: bool
) -> None:
    settings = load_settings({}, OWNER, None, folder) if text is None else settings_of(folder, text)

    with hosted(settings, frozenset({role}), read_again=(lambda: settings) if reads_again else None) as host:
        assert [type(duty) for duty in host.duties] == [FileWatch] * watches


def test_a_store_that_is_given_stays_open_and_another_is_closed(folder: Path, opened: Store) -> None:
    with hosted(load_settings({}, {}, None, folder), frozenset({WORKER}), store=opened):
        pass
    assert opened.list_job_types() == []

    with hosted(load_settings({}, {}, None, folder), frozenset({WORKER})) as host:
        own = host.engine.store
    with pytest.raises(RotaError):
        own.list_job_types()


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        (Settings(port=0, admin_token="dev_key"), "admin_token"),
        (Settings(port=0, tls_certificate="nothing.pem"), "tls_certificate"),
        (Settings(port=0, tls_key="key.pem"), "tls_key"),
        (Settings(port=0, http_allow=("not a host",)), "http_allow"),
    ],
)
def test_what_a_server_cannot_begin_with_is_refused_at_the_start(folder: Path, settings: Settings, field: str) -> None:
    with pytest.raises(InvalidInput) as refused, hosted(settings, frozenset({SERVER})):
        pass

    assert refused.value.field.startswith(field)


def test_a_start_that_failed_leaves_the_port_to_others(folder: Path) -> None:
    port = free_port()

    with (
        pytest.raises(NotFound, match="gpu"),
        hosted(Settings(port=port, node_type="gpu"), frozenset({SERVER, WORKER})),
    ):
        pass

    with hosted(Settings(port=port), frozenset({SERVER})) as host:
        assert host.address == f"http://127.0.0.1:{port}"


def test_a_key_is_made_only_when_nothing_can_fail_any_more(folder: Path) -> None:
    """It is shown once: whoever never saw it could not use the server."""
    with pytest.raises(NotFound), hosted(Settings(port=0, node_type="gpu"), frozenset({SERVER})):
        pass

    store = open_store(Settings().store)
    assert store.get_setting("api_key_hash") is None
    store.close()
