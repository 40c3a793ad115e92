"""Files without a name: memory where the system has such a thing, else a file that is deleted before it is used."""

import os

from rota.engine.executors.shortage import raise_if_short


def open_nameless() -> int:
    """An empty one, to be read and written."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("rota")
    import tempfile  # only where it is needed: a node starts quicker without it

    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


def open_input(content: bytes) -> int:
    """One from which a child reads this as its standard input. A pipe could block, and an environment variable could be
    too long."""
    try:
        return _filled(open_nameless(), content)
    except OSError as error:
        raise_if_short(error)
        raise


def _filled(fd: int, content: bytes) -> int:
    try:
        with open(fd, "wb", closefd=False) as writer:
            writer.write(content)
        os.lseek(fd, 0, os.SEEK_SET)
    except BaseException:
        os.close(fd)
        raise
    return fd
