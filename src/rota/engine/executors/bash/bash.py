"""Executor `bash`: runs a command in a process group of its own.

Metadata: `command` (a script, or an array run without a shell), `environment`, `cwd`, `raw_arguments`,
`arguments_on_stdin` and `keep_output`. How arguments reach the command is said in `arguments.py`. A job may add its own
`command` words and `environment`: whatever whoever may define job types hands in, and what `allow_words` and
`allow_environment` open to everybody else; that is looked at when the job is handed in (`model/access/openings.py`).

The result is always `{stdout, stderr, exit_code}`; an exit code other than 0 makes the job fail, but is a result and no
error. A signal that ended the command counts as minus its number.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from rota.engine.executors.bash.arguments import ON_STDIN, argument_variables, own_arguments
from rota.engine.executors.bash.command import build_argv, build_raw_argv, check_command, check_dashes, job_words
from rota.engine.executors.executor import ExecutorOptions, Run
from rota.engine.executors.metadata import check_flag, check_keys, check_text
from rota.engine.executors.output import KEPT_BYTES, MAX_OUTPUT_BYTES, Stream, capped_log
from rota.engine.executors.process.child import Child, run_child, start_child
from rota.engine.executors.process.environment import base_environment, check_environment, job_variables
from rota.engine.executors.process.keeper import retire_keeper
from rota.engine.executors.process.limits import LIMITS, limited, read_limits
from rota.engine.executors.process.nameless_file import open_input
from rota.engine.executors.process.survivors import tell_survivors
from rota.engine.executors.references import resolved_all
from rota.errors import InvalidInput
from rota.model.access.openings import AFTER_DASHES, ALLOW_ENVIRONMENT, ALLOW_WORDS, allowed_environment, allowed_words
from rota.model.job_type import JobType
from rota.model.limits import MAX_RESULT_BYTES, check_range
from rota.model.runs.outcome import Outcome, failed, refused, succeeded

KEEP = "keep_output"
"""How many bytes of each output stream the result keeps."""
_KEYS = (ALLOW_ENVIRONMENT, ALLOW_WORDS, ON_STDIN, "command", "cwd", "environment", KEEP, LIMITS, "raw_arguments")
_NOT_FOUND = 127
_NOT_EXECUTABLE = 126


class BashExecutor:
    """Runs commands."""

    def __init__(self, options: ExecutorOptions = ExecutorOptions()) -> None:  # noqa: B008 a frozen value
        self._base = base_environment(options.pass_environment)

    def check(self, job_type: JobType) -> None:
        metadata = job_type.metadata
        check_keys(metadata, _KEYS)
        if "command" not in metadata:
            raise InvalidInput("metadata.command", "is required: a string for bash, or an array of strings")
        command = check_command("metadata.command", metadata["command"])
        check_environment("metadata.environment", metadata.get("environment"))
        allowed_environment(metadata)
        check_dashes(command, allowed_words(metadata))
        check_flag(metadata, "raw_arguments")
        check_flag(metadata, ON_STDIN)
        _check_cwd(metadata)
        _check_keep(metadata)
        read_limits(metadata)

    async def run(self, run: Run) -> Outcome:
        try:
            self.check(run.job_type)
            argv = limited(_argv_of(run), read_limits(run.job_type.metadata))
            environment = self._environment_of(run)
        except InvalidInput as error:
            return refused("arguments", str(error))
        log = capped_log(run)
        kept = _check_keep(run.job_type.metadata) // 2
        streams = Stream(log, "info", kept=kept), Stream(log, "error", kept=kept)
        try:
            with _input_of(run) as stdin:
                child = start_child(
                    argv,
                    environment=environment,
                    stdout=streams[0].feed,
                    stderr=streams[1].feed,
                    stdin=stdin,
                    cwd=_check_cwd(run.job_type.metadata),
                )
        except OSError as error:
            return _not_started(argv[0], error)
        return await _outcome_of(child, streams, run)

    async def close(self) -> None:
        """Commands have ended with their runs."""
        retire_keeper()

    def _environment_of(self, run: Run) -> dict[str, str]:
        metadata = run.job_type.metadata
        own = check_environment("metadata.environment", metadata.get("environment"))
        own = resolved_all("metadata.environment", own)
        added = check_environment("arguments.environment", run.spec.arguments.get("environment"))
        arguments = argument_variables(run.spec.arguments, on_stdin=check_flag(metadata, ON_STDIN))
        return {**self._base, **own, **added, **arguments, **job_variables(run)}


async def _outcome_of(child: Child, streams: tuple[Stream, Stream], run: Run) -> Outcome:
    run.signal = child.signal
    try:
        exit_code = await run_child(child, lambda: run.stop_grace_s)
    finally:
        # Stopped from outside, this is what there is to show.
        run.partial_results = results = _results_of(streams, child.exit_code)
        tell_survivors(run, child)
    return succeeded(results) if exit_code == 0 else failed(None, results)


@contextmanager
def _input_of(run: Run) -> Iterator[int | None]:
    """What the command reads as its standard input: nothing, or all arguments where its job type asks for that."""
    if not check_flag(run.job_type.metadata, ON_STDIN):
        yield None
        return
    stdin = open_input(msgspec.json.encode(own_arguments(run.spec.arguments)))
    try:
        yield stdin
    finally:
        os.close(stdin)


def _argv_of(run: Run) -> list[str]:
    metadata = run.job_type.metadata
    command = check_command("metadata.command", metadata["command"])
    extra = run.spec.arguments.get("command")
    if check_flag(metadata, "raw_arguments"):
        return build_raw_argv(command, "arguments.command", extra)
    words = job_words("arguments.command", extra)
    return build_argv(command, words, after_dashes=allowed_words(metadata) == AFTER_DASHES)


def _check_cwd(metadata: dict[str, object]) -> str | None:
    cwd = metadata.get("cwd")
    if cwd is None:
        return None
    if not check_text("metadata.cwd", cwd):
        raise InvalidInput("metadata.cwd", "is empty")
    return str(cwd)


def _not_started(program: str, error: OSError) -> Outcome:
    """As a shell does it: 127 for a program that is not there, 126 for one that cannot be run."""
    exit_code = _NOT_FOUND if isinstance(error, FileNotFoundError) else _NOT_EXECUTABLE
    culprit = error.filename if isinstance(error.filename, str) else program
    message = f"cannot start {program!r}: {error.strerror or error}: {culprit!r}"
    return failed({"type": "spawn", "message": message}, _results("", message, exit_code))


def _results_of(streams: tuple[Stream, Stream], exit_code: int | None) -> dict[str, object]:
    """As much of the output as the job type keeps, and less where that is more than a result may be: what is no text is
    longer as JSON."""
    results = _results(streams[0].finish(), streams[1].finish(), exit_code)
    if len(msgspec.json.encode(results)) <= MAX_RESULT_BYTES:
        return results
    return _results(streams[0].text(KEPT_BYTES), streams[1].text(KEPT_BYTES), exit_code)


def _check_keep(metadata: dict[str, object]) -> int:
    return check_range(f"metadata.{KEEP}", metadata.get(KEEP, 2 * KEPT_BYTES), 0, MAX_OUTPUT_BYTES)


def _results(stdout: str, stderr: str, exit_code: int | None) -> dict[str, object]:
    return {"stdout": stdout, "stderr": stderr, "exit_code": exit_code}
