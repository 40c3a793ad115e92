"""What a job type opens to callers who may not define job types."""

import pytest

from rota.model.access.openings import why_closed
from rota.model.job_type import JobType

Arguments = dict[str, object]


def type_of(executor: str, **metadata: object) -> JobType:
    return JobType(uuid="1", name="t", executor=executor, metadata=metadata)


@pytest.mark.parametrize(
    ("executor", "arguments", "closed"),
    [
        ("bash", {"environment": {"A": "1"}}, "environment.A"),
        ("sidekiq", {"environment": {"RUBYOPT": "-revil"}, "args": [1]}, "environment.RUBYOPT"),
        ("bash", {"command": "x"}, "command"),
        ("bash", {"command": ["x"], "environment": {"A": "1"}}, "command"),
        ("bash", {"command": [], "environment": {}}, None),
        ("bash", {"command": None, "environment": None}, None),
        ("bash", {"day": "monday"}, None),
        ("sidekiq", {"args": ["x"]}, None),
        ("python", {"command": "x", "environment": {"A": "1"}}, None),
        ("http", {"command": "x"}, None),
    ],
)
def test_words_and_variables_are_closed_where_an_executor_adds_them(
    executor: str, arguments: Arguments, closed: str | None
) -> None:
    found = why_closed(type_of(executor), arguments)

    assert (found[0] if found else None) == closed


def test_each_is_opened_for_itself() -> None:
    arguments: Arguments = {"command": "x", "environment": {"A": "1"}}

    assert why_closed(type_of("bash", allow_words=True), arguments) is not None
    assert why_closed(type_of("bash", allow_environment=["A"]), arguments) is not None
    assert why_closed(type_of("bash", allow_words="--", allow_environment=["A"]), arguments) is None
    assert why_closed(type_of("bash", raw_arguments=True), arguments) is None
    assert why_closed(type_of("bash", environment={"A": "0"}), {"environment": {"A": "1"}}) is not None
