"""How answers look: tables, facts, instants, log lines."""

import io
import logging
import os
import pty
import subprocess
import sys

import msgspec
import pytest

from rota.cli.show import span
from rota.host.log_format import HumanFormatter, JsonFormatter, set_up_logging
from rota.host.terminal import coloured, visible
from tests.cli.calling import done, environment

CLEAR_SCREEN = "\x1b[2J"


def record(message: str, *args: object, level: int = logging.INFO, **fields: object) -> logging.LogRecord:
    made = logging.LogRecord("rota.jobs", level, __file__, 1, message, args, None)
    made.created = 1_700_000_000.5
    vars(made).update(fields)
    return made


def test_text_from_jobs_cannot_steer_the_terminal() -> None:
    assert visible(f"a{CLEAR_SCREEN}\x9b\r\x07b\tc\nd") == "a\\x1b[2J\\x9b\\x0d\\x07b\tc\nd"
    assert visible("rm \u202egpj\u2066x\u200f\u061c\u2028") == "rm \\u202egpj\\u2066x\\u200f\\u061c\\u2028"
    assert visible("שלום, Привет, 你好, é") == "שלום, Привет, 你好, é"


@pytest.mark.parametrize(
    ("ms", "said"), [(0, "0ms"), (999, "999ms"), (1_500, "1.5s"), (90_000, "1.5m"), (5_400_000, "1.5h"), (None, "")]
)
def test_lengths_of_time_are_short(ms: int | None, said: str) -> None:
    assert span(ms) == said


def test_a_log_line_for_programs_is_one_json_object_with_all_fields() -> None:
    line = JsonFormatter().format(
        record(
            "job %s",
            "ended",
            job_id="7",
            ms=3,
            odd={
                1,
            },
            level=logging.WARNING,
        )
    )

    assert msgspec.json.decode(line) == {
        "time": 1_700_000_000_500,
        "level": "warning",
        "logger": "rota.jobs",
        "message": "job ended",
        "job_id": "7",
        "ms": 3,
        "odd": [1],
    }


def test_no_field_takes_the_place_of_what_every_log_line_has() -> None:
    made = record("job ended", time=1, logger="mine")
    vars(made)["level"] = "fine"

    line = msgspec.json.decode(JsonFormatter().format(made))

    assert (line["time"], line["level"], line["logger"]) == (1_700_000_000_500, "info", "rota.jobs")


def test_libraries_that_tell_a_lot_tell_no_more_than_the_node() -> None:
    root, loud = logging.getLogger(), logging.getLogger("uvicorn")
    before = root.handlers[:], root.level, loud.level
    try:
        levels = []
        for level in ("DEBUG", "INFO", "ERROR"):
            set_up_logging(level, io.StringIO())
            levels.append((root.level, loud.level, len(root.handlers)))
    finally:
        root.handlers[:] = before[0]
        root.setLevel(before[1])
        loud.setLevel(before[2])

    assert levels == [(10, 30, 1), (20, 30, 1), (40, 40, 1)]


@pytest.mark.parametrize("value", [object(), "\udcff", {1: object()}, float("nan"), 1 << 80])
def test_no_field_breaks_a_log_line(value: object) -> None:
    line = JsonFormatter().format(record("job ended", value=value))

    assert "value" in msgspec.json.decode(line)


def test_a_log_line_for_people_stays_one_line() -> None:
    line = HumanFormatter(io.StringIO()).format(
        record("said: a\nb%s", CLEAR_SCREEN, level=logging.ERROR, job_type="demo.hello", why="two words")
    )

    assert line.split(" ", 1)[1] == 'error: said: a\\nb\\x1b[2J  job_type=demo.hello why="two words"'


def test_an_exception_is_in_the_log() -> None:
    try:
        raise ValueError(f"broken{CLEAR_SCREEN}")
    except ValueError:
        made = record("failed")
        made.exc_info = sys.exc_info()

    shown = HumanFormatter(io.StringIO()).format(made)
    assert "ValueError: broken\\x1b[2J" in shown
    assert CLEAR_SCREEN not in shown
    assert "ValueError: broken" in msgspec.json.decode(JsonFormatter().format(made))["traceback"]


def on_a_terminal(*words: str, **variables: str) -> str:
    """What a verb shows on a terminal of 200 columns."""
    master, slave = pty.openpty()
    command = [sys.executable, "-m", "rota", *words]
    variables = {"TERM": "xterm-256color", "COLUMNS": "200", **variables}
    subprocess.run(command, stdout=slave, stderr=slave, env=environment(**variables), check=True)
    os.close(slave)
    shown = b""
    try:
        while chunk := os.read(master, 65_536):
            shown += chunk
    except OSError:
        pass  # that is how a terminal whose other side is closed ends
    os.close(master)
    return shown.decode()


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stream", "variables", "is_coloured"),
    [
        (Terminal(), {"TERM": "xterm"}, True),
        (Terminal(), {"TERM": "xterm", "NO_COLOR": ""}, True),
        (Terminal(), {"TERM": "xterm", "NO_COLOR": "1"}, False),
        (Terminal(), {"TERM": "dumb"}, False),
        (io.StringIO(), {"TERM": "xterm"}, False),
    ],
)
def test_only_a_terminal_whose_user_wants_them_gets_colours(
    stream: io.StringIO, variables: dict[str, str], is_coloured: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)

    assert coloured("bad", "red", stream) == ("\x1b[31mbad\x1b[0m" if is_coloured else "bad")
    assert coloured("plain", None, stream) == "plain"


def test_tables_on_a_terminal_have_colours_unless_they_are_not_wanted() -> None:
    done("job-type", "create", "hello", "--", "true")
    job_id = done("enqueue", "hello").stdout.strip()
    done("cancel", job_id)

    bright, plain = on_a_terminal("jobs"), on_a_terminal("jobs", NO_COLOR="1")

    assert job_id in bright
    assert "\x1b[33mcancelled" in bright
    assert job_id in plain
    assert "\x1b[33m" not in plain
