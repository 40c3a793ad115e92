"""What is said between a node and a Python process that it has run a job: JSON lines, never pickle."""

import signal

import msgspec
from msgspec import Struct

from rota.engine.executors.executor import ExecutorOptions
from rota.engine.executors.output import Log, Note
from rota.model.job import JobSpec
from rota.model.job_type import JobType
from rota.model.limits import MAX_RESULT_BYTES
from rota.model.runs.outcome import Outcome

MAX_LINE = 4 * MAX_RESULT_BYTES
"""More than any message of ours; a longer line is not from us."""
REMINDER = signal.SIGURG
"""Node to child that is to end, to interrupt what it waits for. Programs that do not handle it do not notice it."""


class Request(Struct, frozen=True):
    """Node to child, on standard input."""

    spec: JobSpec
    job_type: JobType
    attempt: int
    stop_grace_s: float
    options: ExecutorOptions = ExecutorOptions()
    fencing_number: int = 0


class Message(Struct, frozen=True, omit_defaults=True):
    """Child to node, on the result pipe: a line for the log, or one of the others."""

    log: str = ""
    level: str = "info"
    has_begun: bool = False
    """From here on it is the job's own code that runs."""
    outcome: Outcome | None = None
    was_stopped: bool = False
    """The run ended because the child was asked to stop."""
    partial_results: object = None
    """What there is to show of it then."""
    survivors: str = ""
    """And what could not be killed."""
    progress: tuple[float, float | None, str] | None = None
    """How far the work has come: done, of how much, and a message."""
    lacks: str = ""
    """Nothing has begun, because the child found no more of this."""


class MessageReader:
    """Puts the chunks of the result pipe together again."""

    def __init__(self, log: Log, note: Note) -> None:
        self.has_begun = False
        self.outcome: Outcome | None = None
        self.was_stopped = False
        self.partial_results: object = None
        self.survivors = ""
        self.lacks = ""
        self._log = log
        self._note = note
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
        self.has_begun |= message.has_begun
        if message.outcome is not None:
            self.outcome = message.outcome
        elif message.was_stopped:
            self.was_stopped = True
            self.partial_results = message.partial_results
            self.survivors = message.survivors
        elif message.lacks:
            self.lacks = message.lacks
        elif message.progress is not None:
            self._note(*message.progress)
        elif not message.has_begun:
            self._log(message.log, message.level)
