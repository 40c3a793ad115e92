"""Executor `log`: writes one line to the job's log and to the node's own. It shows that something fires, and when."""

import logging
import re

import msgspec

from rota.engine.executors.executor import Run
from rota.engine.executors.metadata import check_keys
from rota.engine.executors.output import capped_log, fit_message
from rota.errors import InvalidInput
from rota.model.job_type import JobType
from rota.model.runs.outcome import Outcome, refused, succeeded

DEFAULT_MESSAGE = "job {name} ran with {arguments}"
_PLACE = re.compile(r"\{(name|arguments|id|attempt)\}")
_logger = logging.getLogger("rota.job")


class LogExecutor:
    """Logs `metadata.message`, in which {name}, {arguments}, {id} and {attempt} are filled in. Arguments that it
    has no place for follow it."""

    def check(self, job_type: JobType) -> None:
        check_keys(job_type.metadata, ("message",))
        message = job_type.metadata.get("message", "")
        if not isinstance(message, str):
            raise InvalidInput("metadata.message", f"must be a string, got {message!r}")

    async def run(self, run: Run) -> Outcome:
        try:
            self.check(run.job_type)
        except InvalidInput as error:
            return refused("job_type", str(error))
        message = fit_message(_message_of(run))
        capped_log(run)(message)
        _logger.info("%s", message, extra={"job_id": run.spec.id})
        return succeeded()

    async def close(self) -> None:
        """Nothing to give up."""


def _message_of(run: Run) -> str:
    """Filled in by name only: `str.format` would let a template reach into objects."""
    values = {
        "name": run.job_type.name,
        "arguments": msgspec.json.encode(run.spec.arguments).decode(),
        "id": run.spec.id,
        "attempt": str(run.attempt),
    }
    template = str(run.job_type.metadata.get("message", DEFAULT_MESSAGE))
    if run.spec.arguments and "{arguments}" not in template:
        template += " {arguments}"  # no executor drops them in silence
    return _PLACE.sub(lambda place: values[place.group(1)], template)
