"""What needs an extra that is not installed says so, with the line that installs it."""

from pathlib import Path

import pytest

from tests.cli.calling import SOURCE, call_process


@pytest.mark.parametrize(
    ("module", "words", "extra"),
    [
        ("redis", ["jobs", "--store", "redis://127.0.0.1:1/0"], "redis"),
        ("watchfiles", ["watch", "."], "watch"),
        ("opentelemetry", ["worker"], "otel"),
    ],
)
def test_a_missing_extra_is_bad_input_with_the_line_that_installs_it(
    tmp_path: Path, module: str, words: list[str], extra: str
) -> None:
    (tmp_path / f"{module}.py").write_text("raise ImportError('not here')")
    store = {} if "--store" in words else {"ROTA_STORE": f"sqlite:///{tmp_path / 'rota.db'}"}

    answer = call_process(*words, PYTHONPATH=f"{tmp_path}:{SOURCE}", ROTA_OTEL="true", **store)

    assert answer.exit_code == 2, answer
    assert f"pip install 'rota[{extra}]'" in answer.stderr
    assert "Traceback" not in answer.stderr
