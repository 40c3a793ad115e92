"""What the soak defines: job types, a schedule per second for each overlap policy, and event rules, as one file that
the nodes read."""

import json
from pathlib import Path

SHELL_JOB = Path(__file__).with_name("shell_job.sh")
STEP_S = 0.5
"""Of a shell job."""
TICK_MS = 1_000
CLOCK, CLOCK_MS = "clock", 2_000
"""The schedule that emits events."""
LONE = "lone"
"""A node type that one node alone serves."""
INBOX = "/soak/in/"
MUST_FAIL = "too_slow"
"""The job type whose jobs run into their timeout."""
WITHOUT_LEDGER = ("rota.emit", MUST_FAIL)
OTHERS_END = ("cancel_other", "terminate_other")
"""Schedules that end the jobs of their earlier ticks."""


def _python(name: str, function: str, **more: object) -> dict[str, object]:
    process = more.pop("process", False)
    metadata: dict[str, object] = {"function": f"tests.soak.jobs:{function}"}
    if process:
        metadata["process"] = True
    return {"name": name, "executor": "python", "metadata": metadata, **more}


def _shell(name: str, **more: object) -> dict[str, object]:
    return {"name": name, "executor": "bash", "metadata": {"command": [str(SHELL_JOB)]}, **more}


def _every_second(overlap: str, job_type: str, arguments: dict[str, object]) -> dict[str, object]:
    return {
        "name": overlap,
        "job_type": job_type,
        "cron": "* * * * * *",
        "overlap": overlap,
        "job_arguments": arguments,
        "priority": 5,
    }


_RETRIES = {"attempts": 5, "delay_ms": 200, "factor": 2.0}

DEFINITIONS = {
    "node_types": [{"name": "default", "thread_count": 24}, {"name": LONE, "thread_count": 8}],
    "job_types": [
        _python("coroutine", "rest", retries=_RETRIES),
        _python("thread", "rest_in_thread", retries=_RETRIES),
        _python("process", "rest_in_thread", process=True),
        _shell("shell"),
        _python("locked_coroutine", "rest", unique="while_running"),
        _python("locked_thread", "rest_in_thread", unique="while_running"),
        _shell("locked_shell", unique="while_running"),
        _python("lone_coroutine", "rest", node_type=LONE),
        _shell("lone_shell", node_type=LONE, unique="while_running"),
        _shell(MUST_FAIL, timeout=1_000),
        _shell("ticking_shell"),
        _python("heard", "rest"),
        _python("after", "rest"),
    ],
    "schedules": [
        _every_second("skip", "coroutine", {"ms": 1500, "lock": "schedule:skip"}),
        _every_second("buffer_one", "thread", {"ms": 1300, "lock": "schedule:buffer_one"}),
        _every_second("buffer_all", "coroutine", {"ms": 300, "lock": "schedule:buffer_all"}),
        _every_second("cancel_other", "ticking_shell", {"command": ["3", "schedule:cancel_other"]}),
        _every_second("terminate_other", "coroutine", {"ms": 1500}),
        _every_second("allow", "lone_coroutine", {"ms": 1500}) | {"catch_up": "all"},
        {"name": CLOCK, "cron": "*/2 * * * * *", "emit": {"type": "TIME_BASED"}},
    ],
    "configurations": [
        {
            "name": "file_came",
            "job": {"job_type": "heard", "arguments": {"ms": 50}},
            "dependencies": [{"type": "FILE", "resourceId": INBOX, "lifeDuration": 0}],
        },
        {
            "name": "file_and_clock",
            "job": {"job_type": "coroutine", "arguments": {"ms": 50}},
            "dependencies": [
                {"type": "FILE", "resourceId": INBOX, "lifeDuration": 5},
                {"type": "TIME_BASED", "resourceId": CLOCK, "lifeDuration": 0},
            ],
        },
        {
            "name": "process_ended",
            "job": {"job_type": "after", "arguments": {"ms": 50}},
            "dependencies": [{"type": "JOB", "resourceId": "process", "outcome": "succeeded", "lifeDuration": 0}],
        },
    ],
}

LOCKS = {
    "locked_coroutine": "lock:coroutine",
    "locked_thread": "lock:thread",
    "locked_shell": "lock:shell",
    "lone_shell": "lock:lone_shell",
}


def write_definitions(folder: Path) -> Path:
    """As a configuration file; JSON is YAML."""
    path = folder / "rota.yaml"
    path.write_text(json.dumps(DEFINITIONS, indent=1))
    return path
