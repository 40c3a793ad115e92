"""Ports for the servers of tests, on 127.0.0.1."""

import fcntl
import os
import random
import socket
from collections import deque
from functools import cache
from pathlib import Path

HOST = "127.0.0.1"
BUS_OFFSET = 10_000
"""How far a Redis Cluster's bus is from the port of its server."""
# Ports and their cluster bus ports stay below 32768, where the system begins to take ports for outgoing connections.
_FIRST_PORT, _LAST_PORT = 11_000, 20_999
_MOST_RESERVED = 300
_reserved: deque[int] = deque()


def free_port() -> int:
    """A port that nobody listens on, and whose cluster bus port is free too. It stays so for a good while, also while
    its server is down or takes its time to start, for all processes that run tests on this machine."""
    while True:
        port = random.randint(_FIRST_PORT, _LAST_PORT)
        if _reserve(port) and _is_free(port) and _is_free(port + BUS_OFFSET):
            return port


def has_ipv6() -> bool:
    """Whether `::1` is an address of this machine. A socket for it can be made also where it is none."""
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return socket.has_dualstack_ipv6()


def _reserve(port: int) -> bool:
    """Lock the bytes of a shared file that stand for the port and its bus port. The kernel gives up what this process
    has when it ends."""
    if port in _reserved:
        return False
    try:
        for one in (port, port + BUS_OFFSET):
            fcntl.lockf(_reservations(), fcntl.LOCK_EX | fcntl.LOCK_NB, 1, one)
    except OSError:
        return False
    _reserved.append(port)
    if len(_reserved) > _MOST_RESERVED:
        oldest = _reserved.popleft()
        for one in (oldest, oldest + BUS_OFFSET):
            fcntl.lockf(_reservations(), fcntl.LOCK_UN, 1, one)
    return True


@cache
def _reservations() -> int:
    # Not where TMPDIR says: suites that have folders of their own share the ports all the same.
    file = Path("/tmp") / f"rota-test-ports-{os.getuid()}"
    return os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True
