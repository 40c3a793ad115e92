"""A process that really lacks something, in which one job is to be run.

`python -m tests.engine.executors.strained_main LIMIT EXECUTOR METADATA [BEFORE]` says what the executor made of it:
`short of ...`, or how the run ended. LIMIT is `processes`, or `memory=64`: so many megabytes beside what the process
has. BEFORE is the metadata of another run before that, without the limit, after which all that is needed is there.
"""

import asyncio
import json
import os
import resource
import sys
import threading
from pathlib import Path

from rota.engine.executors.registry import ExecutorRegistry
from rota.errors import NodeStrained
from rota.model.runs.outcome import OutcomeKind
from tests.engine.executors.runs import make_run

NOBODY = 65_534
MIB = 1024 * 1024
THREAD = 48 * MIB
"""What a thread takes from here on, whatever is usual on the machine."""


def limit(words: str) -> None:
    what, _, size = words.partition("=")
    if what == "memory":
        limit_memory(int(size) * MIB)
    elif what == "processes":
        limit_processes()


def limit_memory(left: int) -> None:
    lines = Path("/proc/self/status").read_text().splitlines()
    has = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmSize"))
    resource.setrlimit(resource.RLIMIT_AS, (has + left, has + left))
    threading.stack_size(THREAD)


def limit_processes() -> None:
    """Root is not limited, so it becomes somebody else. A limit of none holds however many that user has."""
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))


async def play(words: str, executor: str, metadata: str, before: str | None = None) -> str:
    executors = ExecutorRegistry()
    if before is not None:
        outcome = await executors.get(executor).run(make_run(json.loads(before)))
        assert outcome.kind is OutcomeKind.SUCCEEDED, outcome
    limit(words)
    try:
        outcome = await executors.get(executor).run(make_run(json.loads(metadata)))
    except NodeStrained as error:
        return f"short of {error.what}"
    return f"{outcome.kind}: {outcome.errors}"


if __name__ == "__main__":
    print(asyncio.run(play(*sys.argv[1:])), flush=True)
    os._exit(0)  # without memory or threads it may not come to an end otherwise
