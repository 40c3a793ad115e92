"""What people see on a terminal of 80 columns: tables that can be read, `rota top`, bars, completion."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import threading
from pathlib import Path

import pytest

from rota.cli.operations.top import Look, _pace
from rota.model.job import JobState
from rota.shapes.nodes import QueueShape
from tests.cli.calling import RotaProcess, call_process, done, environment
from tests.patience import LONG_DEADLINE_S
from tests.servers import wait_until

_STEERING = re.compile(r"\x1b(?:\[[0-9;?]*[a-zA-Z]|[()][A-Z0-9])")


class Terminal:
    """A command on a terminal of some width."""

    def __init__(self, *words: str, width: int = 80, **variables: str) -> None:
        self._fd, inner = pty.openpty()
        fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
        self.process = subprocess.Popen(
            [sys.executable, "-m", "rota", *words],
            stdin=inner,
            stdout=inner,
            stderr=inner,
            env=environment(TERM="xterm-256color", **variables),
            start_new_session=True,
        )
        os.close(inner)
        self._heard = b""
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        while True:
            try:
                heard = os.read(self._fd, 65_536)
            except OSError:  # nobody has the other end any more
                return
            self._heard += heard

    @property
    def text(self) -> str:
        return _STEERING.sub("", self._heard.decode(errors="replace")).replace("\r", "")

    def lines(self) -> list[str]:
        """Everything that was said, when it is over."""
        assert self.process.wait(LONG_DEADLINE_S) == 0, self.text
        self._reader.join(LONG_DEADLINE_S)
        os.close(self._fd)
        return self.text.splitlines()


@pytest.fixture
def filled(folder: Path) -> str:
    """Jobs and a schedule with names as people choose them; the id of one of the jobs."""
    done("job-type", "create", "Nightly report (EU)", "--", "true")
    done("job-type", "create", "wait", "--", "sleep", "600")
    done("schedule", "create", "nightly-report", "-t", "wait", "--cron", "30 2 * * 1-5", "--tz", "Europe/Berlin")
    done("enqueue", "Nightly report (EU)")
    return str(done("enqueue", "Nightly report (EU)", "--json").json["uuid"])


@pytest.mark.parametrize("verb", [["jobs"], ["nodes"], ["schedule", "list"], ["queues"], ["top", "--once"]])
def test_tables_fit_eighty_columns(filled: str, folder: Path, verb: list[str]) -> None:
    with RotaProcess(["up", "--port", "0", "--no-demo"], folder) as up:
        up.until(lambda: done("nodes", "--json").json != [], "the node to be known")

        lines = Terminal(*verb).lines()

    assert max(len(line.rstrip()) for line in lines) <= 80, lines
    assert not any(re.search(r"\d{4}-\d\d-$|succeede$", line.rstrip()) for line in lines), "broken within a word"


def test_a_cut_id_is_found_and_a_wide_terminal_has_it_whole(filled: str) -> None:
    narrow, wide = Terminal("jobs").lines(), Terminal("jobs", width=150).lines()

    cut = next(line.split()[0] for line in narrow if line.startswith(filled[-8:]))
    assert done("job", cut, "--json").json["uuid"] == filled
    assert any("--json has them whole" in line for line in narrow)
    assert any(line.startswith(filled) for line in wide)
    assert not any("cut" in line for line in wide)
    assert any(line.startswith(filled) for line in done("jobs").stdout.splitlines())


def test_top_shows_queues_nodes_and_running_jobs_and_goes_on(filled: str, folder: Path) -> None:
    running = done("enqueue", "wait", "--json").json["uuid"]
    with RotaProcess(["up", "--port", "0", "--no-demo"], folder) as up:
        up.until(lambda: done("job", running, "--json").json["state"] == "running", "the job to run")
        up.until(lambda: done("nodes", "--json").json != [], "the node to be known")
        shown = done("top", "--json").json
        top = Terminal("top", "--interval", "0.1")
        wait_until(lambda: top.text.count("QUEUE  ") >= 2 and running[-8:] in top.text, "two looks")
        top.process.send_signal(2)

        assert running in [one["uuid"] for one in shown["jobs"]]
        assert (shown["queues"][0]["name"], len(shown["nodes"])) == ("default", 1)
        assert {"ENDED/S", "LAST BEAT", "STARTED"} <= set(re.split(r"\s{2,}|\n", top.text))
        top.lines()


@pytest.mark.parametrize(
    ("ended", "later_ms", "pace"), [(5, 2_000, "2.5"), (0, 2_000, "0.0"), (-3, 2_000, "0.0"), (5, 0, ""), (5, -1, "")]
)
def test_how_fast_jobs_end_is_told_since_the_last_look(ended: int, later_ms: int, pace: str) -> None:
    """Retention may take away more than ended meanwhile, and a clock be set back."""

    def look(time: int, count: int) -> Look:
        jobs = dict.fromkeys(JobState, 0) | {JobState.SUCCEEDED: count, JobState.QUEUED: 7}
        queue = QueueShape(uuid="q", name="default", thread_count=1, paused=False, workers=1, jobs=jobs)  # type: ignore[arg-type]
        return Look(time=time, queues=[queue], nodes=[], jobs=[], queue_names={})

    assert _pace("q", look(10_000 + later_ms, 10 + ended), look(10_000, 10)) == pace
    assert _pace("q", look(10_000, 10), None) == ""


def test_a_backup_has_a_bar_on_a_terminal_and_none_elsewhere(filled: str) -> None:
    on_terminal = "\n".join(Terminal("backup", "one.db").lines())
    elsewhere = done("backup", "two.db").stderr

    assert "Backup" in on_terminal
    assert "[###" in on_terminal
    assert elsewhere.startswith("Copied 2 jobs")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_one_command(shell: str) -> None:
    script = call_process("completion", SHELL=f"/usr/bin/{shell}").stdout

    assert "_ROTA_COMPLETE" in script
    assert script == call_process("completion", shell).stdout


def test_a_shell_that_is_not_known_is_to_be_named() -> None:
    refused = call_process("completion", SHELL="/usr/bin/tcsh")

    assert refused.exit_code == 2
    assert "rota completion bash|zsh|fish" in refused.stderr


def test_bash_completes_verbs_and_options() -> None:
    asked = {"_ROTA_COMPLETE": "bash_complete", "COMP_WORDS": "rota schedule pa", "COMP_CWORD": "2"}

    assert call_process(**asked).stdout == "plain,pause\n"
    assert "plain,--json" in call_process(**asked | {"COMP_WORDS": "rota jobs --j", "COMP_CWORD": "2"}).stdout
