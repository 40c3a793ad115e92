"""Starts a process as the leader of a session and group of its own, with its output on given descriptors.

`os.posix_spawn` is the cheapest way by far and is used wherever it can do what is asked. The child gets the descriptors
it is given and no other: those that Python opens are closed on exec, and those that this process inherited, or that a
library opened in another way, are closed here.
"""

import errno
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

_DEFAULT_SIGNALS = (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGTERM)
"""Python ignores the first two; a child must not inherit that. SIGTERM has to work for `stop`."""

_may_come = False
"""Whether there may be more descriptors to close than at the first start."""


def expect_foreign_descriptors() -> None:
    """A library in this process opens descriptors that children would inherit. From now on they are looked for at every
    start, which costs some 30 us."""
    global _may_come
    _may_come = True


def spawn(
    argv: Sequence[str],
    *,
    environment: Mapping[str, str],
    stdin: int | None,
    stdout: int,
    stderr: int,
    extra: int | None = None,
    cwd: str | None = None,
) -> int:
    """Start a program; its process id. `OSError` says why it cannot be started.

    `extra` is one more descriptor which the child finds under the same number.
    """
    has_low_fd = min(stdout, stderr) <= 2  # this process runs without standard streams: copying would overwrite one
    if cwd is None and extra is None and not has_low_fd:
        return _posix_spawn(argv, environment, stdin=stdin, stdout=stdout, stderr=stderr)
    process = subprocess.Popen(
        argv,
        env=environment,
        cwd=cwd,
        stdin=subprocess.DEVNULL if stdin is None else stdin,
        stdout=stdout,
        stderr=stderr,
        pass_fds=() if extra is None else (extra,),
        start_new_session=True,
    )
    process.returncode = 0  # we wait by its id; this keeps the object from waiting too when it is thrown away
    return process.pid


def _posix_spawn(
    argv: Sequence[str], environment: Mapping[str, str], *, stdin: int | None, stdout: int, stderr: int
) -> int:
    if stdin is None:
        input_action: tuple[object, ...] = (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)
    else:
        input_action = (os.POSIX_SPAWN_DUP2, stdin, 0)
    return os.posix_spawn(
        find_program(argv[0], environment.get("PATH", os.defpath)),
        list(argv),
        environment,
        file_actions=(
            input_action,
            (os.POSIX_SPAWN_DUP2, stdout, 1),
            (os.POSIX_SPAWN_DUP2, stderr, 2),
            *_close_inherited(),
        ),
        setsid=True,
        setsigmask=(),
        setsigdef=_DEFAULT_SIGNALS,
    )


def _close_inherited() -> tuple[tuple[int, int], ...]:
    """Actions that close what a shell, a supervisor or a library left open in this process."""
    if _may_come:
        _found_open.cache_clear()
    return _found_open()


@cache
def _found_open() -> tuple[tuple[int, int], ...]:
    fds = [int(entry.name) for entry in Path("/dev/fd").iterdir()]
    return tuple((os.POSIX_SPAWN_CLOSE, fd) for fd in fds if fd > 2 and _is_inheritable(fd))


def _is_inheritable(fd: int) -> bool:
    try:
        return os.get_inheritable(fd)
    except OSError:  # the listing itself had it open
        return False


def find_program(name: str, path: str) -> str:
    """Where a program is, by the search path of its own environment, as `execvpe` looks for it."""
    if "/" in name:
        return name
    code = errno.ENOENT
    for folder in path.split(os.pathsep):
        candidate = f"{folder or '.'}/{name}"
        if os.access(candidate, os.F_OK) and not Path(candidate).is_dir():
            if os.access(candidate, os.X_OK):
                return candidate
            code = errno.EACCES
    raise OSError(code, os.strerror(code), name)
