"""The command itself: which verbs there are, and how errors become exit codes.

0 ok                        5 the store or server cannot be reached
1 the awaited job failed    6 the key is wrong
2 usage or bad input        7 doctor found problems
3 not found                 124 waiting timed out
4 conflict                  130 interrupted
70 a fault in Rota itself
"""

import os
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import Any

import click

from rota import __version__
from rota.cli.lazy_group import LazyGroup, Verb
from rota.dialects.registry import DIALECTS
from rota.ending.last_resort import LEAVE_S, end_within, has_lasting_threads
from rota.errors import RotaError
from rota.host.terminal import visible

USAGE = 2
INTERRUPTED = 130
FAULT = 70

_OWN_SECTIONS = {
    "Run": {
        "up": Verb("rota.cli.run.run:up", "Scheduler, worker and server in one process."),
        "worker": Verb("rota.cli.run.worker:worker", "Run jobs."),
        "scheduler": Verb("rota.cli.run.run:scheduler", "Fire schedules and do housekeeping, without running jobs."),
        "server": Verb("rota.cli.run.run:server", "Serve the HTTP API, without running jobs."),
    },
    "Jobs": {
        "enqueue": Verb("rota.cli.jobs.enqueue:enqueue", "Make a job; wait for it or follow its log."),
        "jobs": Verb("rota.cli.jobs.jobs:jobs", "List jobs."),
        "job": Verb("rota.cli.jobs.jobs:job", "Show one job."),
        "why": Verb("rota.cli.jobs.why:why", "Say why a job, schedule, configuration or queue does not run."),
        "logs": Verb("rota.cli.jobs.logs:logs", "Show the log of a job, live with -f."),
        "cancel": Verb("rota.cli.jobs.jobs:cancel", "Cancel jobs, waiting or running."),
        "retry": Verb("rota.cli.jobs.jobs:retry", "Bring failed or cancelled jobs back."),
    },
    "Events": {
        "event": Verb("rota.cli.events.events:event", "Post events; list those that counted."),
        "configuration": Verb("rota.cli.events.configurations:configuration", "Which events make which job."),
        "explain": Verb(
            "rota.cli.events.configurations:explain_configuration", "Why a configuration fired, or did not."
        ),
        "watch": Verb("rota.cli.events.watch_files:watch", "Post an event for every new file in some directories."),
    },
    "Topics": {
        "topic": Verb("rota.cli.events.topics:topic", "Read topics: list, tail."),
    },
    "Definitions": {
        "job-type": Verb("rota.cli.definitions.job_types:job_type", "What can be run: create, list, show, delete."),
        "node-type": Verb("rota.cli.definitions.node_types:node_type", "Where it runs: create, list, show, delete."),
        "apply": Verb("rota.cli.definitions.files:apply", "Make the store agree with a file of definitions."),
        "diff": Verb("rota.cli.definitions.files:diff", "Show what apply would change."),
    },
    "Time": {
        "schedule": Verb(
            "rota.cli.time.schedules:schedule", "Jobs by the clock: create, list, show, edit, pause, ticks, backfill."
        ),
        "next": Verb("rota.cli.time.next_fires:next_fires", "Show when a cron line fires."),
        "simulate": Verb("rota.cli.time.simulate:simulate", "Show what would fire, without firing it."),
        "import": Verb("rota.cli.time.imports:imports", "Take over schedules from elsewhere: crontab."),
    },
    "Operations": {
        "queues": Verb("rota.cli.operations.queues:queues", "List queues; pause and resume them."),
        "nodes": Verb("rota.cli.operations.nodes:nodes", "List the processes that serve."),
        "top": Verb("rota.cli.operations.top:top", "Watch queues, nodes and running jobs."),
        "audit": Verb("rota.cli.operations.audit:audit", "Show who changed what."),
        "key": Verb("rota.cli.operations.key:key", "Make, list and revoke API keys."),
        "doctor": Verb("rota.cli.operations.doctor:doctor", "Look for problems and say how to fix them."),
        "backup": Verb("rota.cli.operations.copies:backup", "Copy everything into a file, also while nodes run."),
        "restore": Verb("rota.cli.operations.copies:restore", "Bring a backup into an empty store."),
        "migrate": Verb("rota.cli.operations.copies:migrate", "Bring everything to another store."),
        "bench": Verb("rota.cli.operations.bench:bench", "Measure this machine with jobs that do nothing."),
        "completion": Verb("rota.cli.operations.completion:completion", "Let the shell complete verbs and options."),
        "config": Verb("rota.cli.operations.config:config", "Show the settings in force and where they came from."),
        "version": Verb("rota.cli.operations.config:version", "Show versions."),
    },
}

_OF_DIALECTS = {one.title: {name: Verb(*verb) for name, verb in one.verbs.items()} for one in DIALECTS if one.verbs}
SECTIONS = _OWN_SECTIONS | _OF_DIALECTS


class RotaCommand(LazyGroup):
    """The outermost group. It ends the process with the exit code of what happened, never with a stack trace."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        run = super().main
        sys.exit(_exit_code(lambda: run(args, "rota", complete_var, standalone_mode=False, **extra)))


def _exit_code(run: Callable[[], object]) -> int:
    """What a verb returned, or what became of its error."""
    try:
        answer = run()
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return USAGE
    except click.ClickException as error:
        return _usage_error(error)
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except RotaError as error:
        return _say(str(error), error.exit_code)
    except Exception as error:
        if isinstance(error, OSError) and error.filename is not None:  # of a file that the command line names
            return _say(f"{error.filename}: {error.strerror}", USAGE)
        return _say(f"this is a fault in Rota: {type(error).__name__}: {error}; ROTA_DEBUG=1 shows where", FAULT)
    return answer if isinstance(answer, int) else 0


def _usage_error(error: click.ClickException) -> int:
    message = error.format_message()
    context = getattr(error, "ctx", None)
    if context is not None:
        message = f"{message}\n{context.get_usage()}\nTry: {context.command_path} --help"
    return _say(message, USAGE)


def _say(message: str, exit_code: int) -> int:
    if os.environ.get("ROTA_DEBUG", "") not in ("", "0"):
        traceback.print_exc()
    click.echo(f"error: {visible(message)}", err=True)
    return exit_code


def _show_version(ctx: click.Context, param: click.Parameter, is_asked: bool) -> None:
    if is_asked:
        click.echo(f"rota {__version__}")
        ctx.exit()


_VERSION = click.Option(
    ["--version"], is_flag=True, is_eager=True, expose_value=False, callback=_show_version, help="Show the version."
)

cli = RotaCommand(
    name="rota",
    sections=SECTIONS,
    params=[_VERSION],
    help="One scheduler for everything that has to run. Start with: rota up",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def main() -> None:
    """The entry point."""
    try:
        cli.main()
    except SystemExit as end:
        if has_lasting_threads():
            end_within(LEAVE_S, end.code if isinstance(end.code, int) else 1)
        raise
