"""The sidekiq executor's other way: Ruby, started in a Rails folder, pushes the job with the application's settings.

The arguments reach Ruby as JSON on its standard input and the class as an argument; neither becomes Ruby source. The
result is that of a command: `{stdout, stderr, exit_code}`.
"""

import os

from rota.engine.executors.executor import ExecutorOptions, Run
from rota.engine.executors.metadata import check_keys, check_text
from rota.engine.executors.output import Stream, capped_log
from rota.engine.executors.process.child import run_child, start_child
from rota.engine.executors.process.environment import base_environment, check_environment, job_variables
from rota.engine.executors.process.nameless_file import open_input
from rota.engine.executors.process.survivors import tell_survivors
from rota.engine.executors.references import resolved_all
from rota.engine.executors.sidekiq.job import check_class, read_arguments
from rota.errors import InvalidInput
from rota.model.access.openings import ALLOW_ENVIRONMENT, allowed_environment
from rota.model.limits import MAX_PAYLOAD_BYTES, encode_json
from rota.model.runs.outcome import Outcome, failed, refused, succeeded

_KEYS = (ALLOW_ENVIRONMENT, "environment", "rails_dir", "ruby_executable", "sidekiq_worker")
_SCRIPT = """require "json"; require "./config/environment"
Object.const_get(ARGV.fetch(0)).perform_async(*JSON.parse($stdin.read))"""


def is_rails(metadata: dict[str, object]) -> bool:
    return "rails_dir" in metadata


def check_rails(metadata: dict[str, object]) -> None:
    check_keys(metadata, _KEYS)
    _check_path("rails_dir", metadata["rails_dir"])
    _check_path("ruby_executable", metadata.get("ruby_executable", "ruby"))
    check_class("metadata.sidekiq_worker", metadata.get("sidekiq_worker"))
    check_environment("metadata.environment", metadata.get("environment"))
    allowed_environment(metadata)


async def push_by_rails(run: Run, options: ExecutorOptions) -> Outcome:
    """Start Ruby and await its end."""
    metadata = run.job_type.metadata
    try:
        args = read_arguments(run.spec.arguments, "environment")
        environment = _environment_of(run, options)
        request = open_input(encode_json("arguments", args, MAX_PAYLOAD_BYTES))
    except InvalidInput as error:
        return refused("arguments", str(error))
    ruby = str(metadata.get("ruby_executable", "ruby"))
    log = capped_log(run)
    streams = Stream(log, "info"), Stream(log, "error")
    try:
        child = start_child(
            [ruby, "-e", _SCRIPT, str(metadata["sidekiq_worker"])],
            environment=environment,
            stdout=streams[0].feed,
            stderr=streams[1].feed,
            stdin=request,
            cwd=str(metadata["rails_dir"]),
        )
    except OSError as error:
        return failed({"type": "spawn", "message": f"cannot start {ruby!r}: {error.strerror}: {error.filename!r}"})
    finally:
        os.close(request)
    run.signal = child.signal
    try:
        exit_code = await run_child(child, lambda: run.stop_grace_s)
    finally:
        stdout, stderr = streams[0].finish(), streams[1].finish()
        run.partial_results = results = {"stdout": stdout, "stderr": stderr, "exit_code": child.exit_code}
        tell_survivors(run, child)
    return succeeded(results) if exit_code == 0 else failed(None, results)


def _check_path(key: str, value: object) -> None:
    if not check_text(f"metadata.{key}", value):
        raise InvalidInput(f"metadata.{key}", "is empty")


def _environment_of(run: Run, options: ExecutorOptions) -> dict[str, str]:
    own = check_environment("metadata.environment", run.job_type.metadata.get("environment"))
    own = resolved_all("metadata.environment", own)
    added = check_environment("arguments.environment", run.spec.arguments.get("environment"))
    return {**base_environment(options.pass_environment), **own, **added, **job_variables(run)}
