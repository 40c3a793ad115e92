"""The environment of a command: what the node has and may give, then the job type's, then the job's.

A command inherits the node's environment, because that is how operators hand settings to their commands, but not what
belongs to Rota itself: its keys, tokens and store addresses. A job may set variables too; but not those which make the
loader, the shell or an interpreter run other code, as this would let whoever may enqueue run anything. A job type that
sets such a variable itself, or has `raw_arguments`, lets its jobs set it.
"""

import os
import re
from collections.abc import Mapping

from rota.engine.executors.executor import Run
from rota.engine.executors.metadata import check_text
from rota.errors import InvalidInput

RESULT_FD = "ROTA_RESULT_FD"
"""The variable that tells a child process the number of its result pipe."""
_OWN = re.compile(r"ROTA_|REDIS_|VALKEY_|KAFKA_|HTTP_API_KEY$|CLUSTER_ADMIN_TOKEN$")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_RUNS_CODE = re.compile(
    r"LD_|DYLD_|GLIBC_|BASH|SHELL|PYTHON|PERL5|LUA_|(ENV|PATH|IFS|PS4|PROMPT_COMMAND|GCONV_PATH|RUBYOPT|RUBYLIB|NODE_OPTIONS"
    r"|NODE_PATH|CLASSPATH|JAVA_TOOL_OPTIONS|JDK_JAVA_OPTIONS|_JAVA_OPTIONS|EDITOR|VISUAL|PAGER|LESSOPEN|LESSCLOSE"
    r"|GIT_(SSH|SSH_COMMAND|EXEC_PATH|EXTERNAL_DIFF|PAGER|EDITOR|ASKPASS|PROXY_COMMAND|TEMPLATE_DIR|CONFIG\w*))$"
)
"""The known ones. No list is complete: a command that obeys a variable of its own must not trust the jobs' either."""


def base_environment() -> dict[str, str]:
    """What every command inherits from the node. Passing it on is no setting, so it does not come from `Settings`."""
    return {name: value for name, value in os.environ.items() if not _OWN.match(name)}


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


def check_job_environment(field: str, value: object, allowed: Mapping[str, str]) -> dict[str, str]:
    """A job's variables; those that make programs run other code only if they are among `allowed`."""
    environment = check_environment(field, value)
    for name in environment:
        if _RUNS_CODE.match(name) and name not in allowed:
            raise InvalidInput(
                f"{field}.{name}",
                "can make programs run other code, so a job may set it only if its job type does, or has raw_arguments",
            )
    return environment
