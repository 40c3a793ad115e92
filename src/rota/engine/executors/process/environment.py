"""The environment of a command: what the node has and may give, then the job type's, then the job's.

A command inherits the node's environment, because that is how operators hand settings to their commands, but not what
belongs to Rota itself: its keys, tokens and store addresses. Which variables a job may set is decided when it is handed
in (`model/access/openings.py`): many programs obey some variable, so no list of dangerous ones could be complete.
"""

import os
import re
from collections.abc import Sequence

from rota.engine.executors.executor import Run
from rota.engine.executors.metadata import check_text
from rota.errors import InvalidInput

RESULT_FD = "ROTA_RESULT_FD"
"""The variable that tells a child process the number of its result pipe."""
_OWN = re.compile(r"ROTA_|REDIS_|VALKEY_|KAFKA_|HTTP_API_KEY$|CLUSTER_ADMIN_TOKEN$")
ALWAYS_PASSED = frozenset({"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "TZ", "LANG", "LC_ALL", "LC_CTYPE"})
"""Without these hardly any program works; whatever `pass_environment` says, they are passed on."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def base_environment(passed: Sequence[str] = ("*",)) -> dict[str, str]:
    """What every child inherits from the node: what the setting `pass_environment` names, and is not Rota's own."""
    return {
        name: value
        for name, value in os.environ.items()
        if not _OWN.match(name) and (name in ALWAYS_PASSED or any(_fits(name, one) for one in passed))
    }


def _fits(name: str, pattern: str) -> bool:
    return name.startswith(pattern[:-1]) if pattern.endswith("*") else name == pattern


def job_variables(run: Run) -> dict[str, str]:
    """What tells a command which job it is. Nobody can set these to anything else."""
    found = {"ROTA_JOB_ID": run.spec.id, "ROTA_JOB_ATTEMPT": str(run.attempt), "ROTA_JOB_TYPE": run.job_type.name}
    if run.fencing_number:
        found["ROTA_FENCING_NUMBER"] = str(run.fencing_number)
    cause = run.spec.cause
    if cause is not None and cause.instant is not None:
        found["ROTA_NOMINAL_INSTANT"] = str(cause.instant)  # the tick that it is for, in epoch milliseconds
    return found


def check_environment(field: str, value: object) -> dict[str, str]:
    """A map of names to strings; absent and null are an empty one."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise InvalidInput(field, f"must be an object of strings, got {value!r}")
    for name, text in value.items():
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise InvalidInput(field, f"{name!r} is not the name of a variable")
        check_text(f"{field}.{name}", text)
    return value
