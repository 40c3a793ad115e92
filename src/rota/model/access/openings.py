"""What a job type opens to callers who may run it, but may not define job types.

Whoever may define can run anything, so what such a caller adds to a command is added, as Synchrony has it. Any other
may set only the variables that `metadata.allow_environment` names, and may add words only if `metadata.allow_words`
says so: many programs obey variables of their own, and words are options to most of them.
"""

import re

from rota.errors import InvalidInput
from rota.model.job_type import JobType

ALLOW_ENVIRONMENT = "allow_environment"
ALLOW_WORDS = "allow_words"
AFTER_DASHES = "--"
"""The value of `allow_words` that puts `--` before the words, so that they are no options."""
RAW = "raw_arguments"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MOST_NAMES = 100
_WITH_ENVIRONMENT = frozenset({"bash", "sidekiq"})
_WITH_WORDS = frozenset({"bash"})


def allowed_environment(metadata: dict[str, object]) -> frozenset[str]:
    """The variables that every job may set; those that the job type sets itself are not among them."""
    names = metadata.get(ALLOW_ENVIRONMENT, [])
    field = f"metadata.{ALLOW_ENVIRONMENT}"
    if not isinstance(names, list) or len(names) > _MOST_NAMES:
        raise InvalidInput(field, f"must be a list of at most {_MOST_NAMES} names of variables, got {names!r:.100}")
    for name in names:
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise InvalidInput(field, f"{name!r:.100} is not the name of a variable")
    return frozenset(names)


def allowed_words(metadata: dict[str, object]) -> bool | str:
    """Whether every job may add words: false, true, or `--`, which is then put before them."""
    value = metadata.get(ALLOW_WORDS, False)
    if not isinstance(value, bool) and value != AFTER_DASHES:
        raise InvalidInput(f"metadata.{ALLOW_WORDS}", f'must be true, false or "--", got {value!r:.100}')
    return value if isinstance(value, bool) else AFTER_DASHES


def why_closed(job_type: JobType, arguments: dict[str, object]) -> tuple[str, str] | None:
    """The argument that only those who may define job types can give, and why; None when there is no such one."""
    metadata = job_type.metadata
    if metadata.get(RAW) is True and job_type.executor in _WITH_WORDS:
        return None  # whoever said so wanted every job to be a script
    if job_type.executor in _WITH_WORDS and arguments.get("command") and not allowed_words(metadata):
        return "command", f"the job type {job_type.name!r} takes no words of such jobs; {ALLOW_WORDS} would open it"
    if job_type.executor in _WITH_ENVIRONMENT:
        return _closed_variable(job_type, arguments.get("environment"))
    return None


def _closed_variable(job_type: JobType, environment: object) -> tuple[str, str] | None:
    if not isinstance(environment, dict):
        return None  # null is nothing, and anything else is refused by the executor
    for name in environment:
        if name not in allowed_environment(job_type.metadata):
            reason = f"the job type {job_type.name!r} does not open this variable; {ALLOW_ENVIRONMENT} would"
            return f"environment.{name}"[:200], reason
    return None
