"""What is said between a node and the child process that runs a Python function: JSON lines, never pickle."""

from collections.abc import Callable

import msgspec
from msgspec import Struct

from rota.model.job import JobSpec
from rota.model.job_type import JobType
from rota.model.limits import MAX_RESULT_BYTES
from rota.model.outcome import Outcome

MAX_LINE = 4 * MAX_RESULT_BYTES
"""More than any message of ours; a longer line is not from us."""


class Request(Struct, frozen=True):
    """Node to child, on standard input."""

    spec: JobSpec
    job_type: JobType
    attempt: int


class Message(Struct, frozen=True, omit_defaults=True):
    """Child to node, on the result pipe: a line for the log, or the outcome."""

    log: str = ""
    level: str = "info"
    outcome: Outcome | None = None


class MessageReader:
    """Puts the chunks of the result pipe together again."""

    def __init__(self, log: Callable[[str, str], None]) -> None:
        self.outcome: Outcome | None = None
        self._log = log
        self._part = b""
        self._decoder = msgspec.json.Decoder(Message)

    def feed(self, chunk: bytes) -> None:
        *lines, part = chunk.split(b"\n")
        if lines:
            self._take(self._part + lines[0])
            for line in lines[1:]:
                self._take(line)
            self._part = b""
        if len(self._part) + len(part) <= MAX_LINE:
            self._part += part

    def _take(self, line: bytes) -> None:
        try:
            message = self._decoder.decode(line)
        except msgspec.DecodeError:
            return  # the job's own code wrote into our pipe
        if message.outcome is None:
            self._log(message.log, message.level)
        else:
            self.outcome = message.outcome
