"""`light:` of the configuration file."""

from pathlib import Path

import pytest

from rota.dialects import registry
from rota.dialects.light.options import LightOptions, options_of, side_queues
from rota.errors import InvalidInput
from rota.settings import Settings, load_settings


def settings_of(folder: Path, text: str) -> Settings:
    (folder / "rota.yaml").write_text(text)
    return load_settings({}, {}, None, folder, registry.sections())


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", False), ("light: {}", False), ("light: {optional_parameters: true}", True)],
)
def test_parameters_are_optional_if_the_file_says_so(tmp_path: Path, text: str, expected: bool) -> None:
    assert options_of(settings_of(tmp_path, text)) == LightOptions(optional_parameters=expected)


def test_every_worker_sends_due_tasks_as_many_at_a_time_as_the_file_says(tmp_path: Path) -> None:
    assert side_queues(settings_of(tmp_path, "")) == {"light": 64}
    assert side_queues(settings_of(tmp_path, "light: {threads: 3}")) == {"light": 3}


@pytest.mark.parametrize("threads", [0, 10_000])
def test_a_worker_may_send_no_due_tasks_or_as_many_as_one_process_can(tmp_path: Path, threads: int) -> None:
    assert side_queues(settings_of(tmp_path, f"light: {{threads: {threads}}}")) == {"light": threads}


@pytest.mark.parametrize(
    "text",
    [
        "light: {threads: -1}",
        "light: {threads: 10001}",
        "light: {optional_parameters: 1}",
        "light: {optional: true}",
        "light: 5",
    ],
)
def test_what_cannot_be_meant_is_refused_with_its_line(tmp_path: Path, text: str) -> None:
    with pytest.raises(InvalidInput, match=r"rota\.yaml:1"):
        settings_of(tmp_path, text)
