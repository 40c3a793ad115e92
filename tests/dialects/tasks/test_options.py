"""`tasks:` of the configuration file."""

from pathlib import Path

import pytest

from rota.dialects import registry
from rota.dialects.tasks.opening import open_dialect
from rota.dialects.tasks.options import TaskOptions, options_of
from rota.dialects.tasks.redis.keeper import TaskKeys
from rota.errors import InvalidInput
from rota.settings import Settings, load_settings
from rota.store import Store


def settings_of(folder: Path, text: str) -> Settings:
    (folder / "rota.yaml").write_text(text)
    return load_settings({}, {}, None, folder, registry.sections())


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", True), ("tasks:", True), ("tasks: {}", True), ("tasks: {keys: true}", True), ("tasks: {keys: false}", False)],
)
def test_tasks_have_their_keys_unless_the_file_says_otherwise(tmp_path: Path, text: str, expected: bool) -> None:
    assert options_of(settings_of(tmp_path, text)) == TaskOptions(keys=expected)


@pytest.mark.stores("redis")
def test_a_setting_leaves_the_keys_alone(store: Store, tmp_path: Path) -> None:
    assert isinstance(open_dialect(settings_of(tmp_path, ""), store), TaskKeys)
    assert open_dialect(settings_of(tmp_path, "tasks: {keys: false}"), store) is None


@pytest.mark.stores("sqlite-file", "redis-cluster")
def test_elsewhere_there_are_no_keys(store: Store, tmp_path: Path) -> None:
    assert open_dialect(settings_of(tmp_path, "tasks: {keys: true}"), store) is None


@pytest.mark.parametrize("text", ["tasks: {keys: 1}", "tasks: {key: true}", "tasks: 5"])
def test_what_cannot_be_meant_is_refused_with_its_line(tmp_path: Path, text: str) -> None:
    with pytest.raises(InvalidInput, match=r"rota\.yaml:1"):
        settings_of(tmp_path, text)
