"""What a process can run short of: file descriptors, processes, threads, memory; and the store, of jobs that only write
to it. The job that notices is not to blame, and none of it has run: executors raise `NodeStrained`, the job goes back,
and the node claims less for a while.
"""

import errno
import mmap
import os
from collections.abc import Iterator
from contextlib import contextmanager

from rota.errors import NodeStrained, StoreFull, StoreUnavailable

_MEMORY = "memory"
_LACKING = {
    errno.EMFILE: "file descriptors",
    errno.ENFILE: "file descriptors of the whole system",
    errno.ENOMEM: _MEMORY,
    errno.ENOBUFS: "memory for sockets",
}
_NO_THREAD = "can't start new thread"
"""What Python says; there is no class for it."""
_NO_MAPPING = "failed to map segment from shared object"
"""What glibc says, of memory and of a file system from which nothing may be run."""
_MODULE_MEMORY = 256 * 1024 * 1024
"""More than the import of a module takes. With so much left, it was not the node that had too little."""


def raise_if_short(error: BaseException, *, of_processes: bool = False) -> None:
    """Raise `NodeStrained` if this error, or one behind it, is a shortage of the process.

    `of_processes`: a process was to be started, and "try again" means that there may be no more of them.
    """
    seen: BaseException | None = error
    while seen is not None:
        if what := _lacks(seen, of_processes=of_processes):
            raise NodeStrained(what) from error
        seen = seen.__cause__ or seen.__context__


@contextmanager
def sparing_the_job(*, counts_once: bool = True) -> Iterator[None]:
    """For an executor that does nothing but write to the store: raise `NodeStrained` for a shortage of the process, and
    for a store that is away or full.

    `counts_once`: what is written counts once, however often it is written. Only then may a job whose write perhaps
    reached its place be run again without an attempt being counted, which has no end.
    """
    try:
        yield
    except Exception as error:
        raise_if_short(error)
        if counts_once and isinstance(error, StoreUnavailable | StoreFull):
            raise NodeStrained("store", f"the store does not take what a job writes: {error}") from error
        raise


def raise_if_import_ran_short(error: BaseException) -> None:
    """As `raise_if_short`, of a module whose import ended with this error.

    One that wants more memory than any should is to blame itself: its jobs would go back for ever, and the node would
    claim ever less for their sake. So it counts what is left once the module has given back what it had taken, which
    its traceback holds: an error for want of memory has none afterwards.
    """
    try:
        raise_if_short(error)
    except NodeStrained as strained:
        if strained.what == _MEMORY:
            _drop_tracebacks(error)
            if _has_memory():
                return
        raise


def raise_if_no_descriptor() -> None:
    """Raise `NodeStrained` if nothing more can be opened. The system's resolver does not say that it was for this."""
    try:
        os.close(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        raise_if_short(error)


def _lacks(error: BaseException, *, of_processes: bool) -> str | None:
    if isinstance(error, MemoryError):
        return _MEMORY
    if isinstance(error, RuntimeError) and str(error) == _NO_THREAD:
        return "threads"
    if isinstance(error, ImportError):
        return _lacks_by_words(str(error))
    if not isinstance(error, OSError):
        return None
    if of_processes and error.errno == errno.EAGAIN:
        return "processes"
    return _lacks_by_words(str(error)) if error.errno is None else _LACKING.get(error.errno)


def _lacks_by_words(message: str) -> str | None:
    """What the loader of compiled modules and libraries lacked: it has words for that, and no number."""
    if message.endswith(_NO_MAPPING):
        return _MEMORY
    return next((what for number, what in _LACKING.items() if message.endswith(f": {os.strerror(number)}")), None)


def _drop_tracebacks(error: BaseException) -> None:
    seen: BaseException | None = error
    while seen is not None:
        seen.__traceback__ = None
        seen = seen.__cause__ or seen.__context__


def _has_memory() -> bool:
    """Whether there is room for a module, of which nothing is used."""
    try:
        mmap.mmap(-1, _MODULE_MEMORY).close()
    except (OSError, MemoryError):
        return False
    return True
