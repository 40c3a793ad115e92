"""What a process can run short of: file descriptors, processes, threads, memory. The job that notices is not to blame,
and none of it has run: executors raise `NodeStrained`, the job goes back, and the node claims less for a while.
"""

import errno
import os

from rota.errors import NodeStrained

_LACKING = {
    errno.EMFILE: "file descriptors",
    errno.ENFILE: "file descriptors of the whole system",
    errno.ENOMEM: "memory",
    errno.ENOBUFS: "memory for sockets",
}
_NO_THREAD = "can't start new thread"
"""What Python says; there is no class for it."""


def raise_if_short(error: BaseException, *, of_processes: bool = False) -> None:
    """Raise `NodeStrained` if this error, or one behind it, is a shortage of the process.

    `of_processes`: a process was to be started, and "try again" means that there may be no more of them.
    """
    seen: BaseException | None = error
    while seen is not None:
        if what := _lacks(seen, of_processes=of_processes):
            raise NodeStrained(what) from error
        seen = seen.__cause__ or seen.__context__


def raise_if_no_descriptor() -> None:
    """Raise `NodeStrained` if nothing more can be opened. The system's resolver does not say that it was for this."""
    try:
        os.close(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        raise_if_short(error)


def _lacks(error: BaseException, *, of_processes: bool) -> str | None:
    if isinstance(error, MemoryError):
        return "memory"
    if isinstance(error, RuntimeError) and str(error) == _NO_THREAD:
        return "threads"
    if not isinstance(error, OSError):
        return None
    if of_processes and error.errno == errno.EAGAIN:
        return "processes"
    return _LACKING.get(error.errno or 0)
