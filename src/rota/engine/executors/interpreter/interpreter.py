"""Runs one attempt in a Python process of its own, and hears what becomes of it."""

import asyncio
import os
import signal
import sys

import msgspec

from rota.engine.executors.executor import ExecutorOptions, Run
from rota.engine.executors.interpreter.messages import REMINDER, MessageReader, Request
from rota.engine.executors.output import LineLog, capped_log
from rota.engine.executors.process.child import Child, run_child, start_child
from rota.engine.executors.process.environment import base_environment, job_variables
from rota.engine.executors.process.limits import NONE, Limits, limited
from rota.engine.executors.process.nameless_file import open_input
from rota.engine.executors.process.survivors import tell_survivors
from rota.errors import NodeStrained
from rota.model.runs.outcome import Outcome, OutcomeKind

_BOOT = "import sys; sys.path[:] = sys.argv[1:]; del sys.argv[1:]; from {module} import main; main()"
"""The child finds modules exactly where this process does."""
_INNER_GRACE = 0.8
"""The child's share of the grace: what it runs has to end before it is killed itself."""


class Interpreter:
    """One process for one run. After `run` it tells how it ended, if there was no outcome."""

    def __init__(self, run: Run, module: str, options: ExecutorOptions, *, limits: Limits = NONE) -> None:
        """`module` has a `main()` that does the work. `InvalidInput` says which limit this node cannot set."""
        self._run = run
        self._module = module
        self._options = options
        self._log = capped_log(run)
        self._reader = MessageReader(self._log, self._log.note)
        self.exit_code = 0
        self._prefix = limited([], limits)

    @property
    def died_in_job(self) -> bool:
        """Whether the child ended, without an outcome and without being asked to, in the job's own code."""
        reader = self._reader
        return reader.has_begun and reader.outcome is None and not reader.was_stopped

    async def run(self) -> Outcome | None:
        """The outcome that the child sent, None when it ended without one.

        `OSError` when it cannot be started, `NodeStrained` when it or this process lacks something. Cancelled, it stops
        the child; a run that succeeds all the same has succeeded.
        """
        streams = LineLog(self._log, "info"), LineLog(self._log, "error")
        child = self._start(streams)
        child.reminder = REMINDER
        self._run.signal = child.signal
        try:
            self.exit_code = await run_child(child, lambda: self._run.stop_grace_s)
        except asyncio.CancelledError:
            self._run.partial_results = self._reader.partial_results
            if self._reader.survivors:
                self._run.can_be_stopped, self._run.survivors = False, self._reader.survivors
            if self._reader.outcome is None or self._reader.outcome.kind is not OutcomeKind.SUCCEEDED:
                raise
        finally:
            for stream in streams:
                stream.finish()
            tell_survivors(self._run, child)
        if self._reader.lacks:
            raise NodeStrained(self._reader.lacks)
        return self._reader.outcome

    def how_it_ended(self) -> str:
        if self.exit_code >= 0:
            return f"exit code {self.exit_code}"
        number = -self.exit_code
        known = f" ({signal.strsignal(number)})" if number in signal.valid_signals() else ""
        return f"signal {number}{known}"

    def _start(self, streams: tuple[LineLog, LineLog]) -> Child:
        run = self._run
        grace_s = run.stop_grace_s * _INNER_GRACE
        call = Request(run.spec, run.job_type, run.attempt, grace_s, self._options, run.fencing_number)
        request = open_input(msgspec.json.encode(call))
        try:
            return start_child(
                [*self._prefix, sys.executable, "-c", _BOOT.format(module=self._module), *sys.path],
                environment={**base_environment(self._options.pass_environment), **job_variables(run)},
                stdout=streams[0].feed,
                stderr=streams[1].feed,
                result=self._reader.feed,
                stdin=request,
            )
        finally:
            os.close(request)
