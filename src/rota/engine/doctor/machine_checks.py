"""Checks of the machine: versions, packages, the store's file, the server's address."""

import importlib.util
import ipaddress
import os
import platform
import shutil
import socket
import sqlite3
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from rota.engine.access.keys.dev_key import is_dev_key
from rota.engine.doctor.finding import Finding, ok, problem, warning
from rota.engine.engine import store_file
from rota.settings import Settings

OLDEST_PYTHON = (3, 11)
OLDEST_SQLITE = (3, 35, 0)
LEAST_FREE_BYTES = 200 * 1024 * 1024
_SPEED_PACKAGES = {"uvloop": "uvloop", "httptools": "httptools"}


def check_machine(settings: Settings) -> Iterator[Finding]:
    yield _python()
    yield _sqlite()
    yield from _packages(settings)
    yield from _file(settings)
    yield from _dev_key(settings)


def _python() -> Finding:
    version = platform.python_version()
    if sys.version_info < OLDEST_PYTHON:
        return problem("python", f"Python {version} is too old", "use Python 3.11 or newer")
    return ok("python", f"Python {version}")


def _sqlite() -> Finding:
    if sqlite3.sqlite_version_info < OLDEST_SQLITE:
        return problem(
            "sqlite", f"SQLite {sqlite3.sqlite_version} is too old", "use a Python with SQLite 3.35 or newer"
        )
    return ok("sqlite", f"SQLite {sqlite3.sqlite_version}")


def _packages(settings: Settings) -> Iterator[Finding]:
    for module, package in _SPEED_PACKAGES.items():
        if importlib.util.find_spec(module) is None and sys.platform != "win32":
            yield warning("packages", f"{package} is missing, so everything is slower", f"pip install {package}")
    if not settings.store.startswith("sqlite:") and importlib.util.find_spec("hiredis") is None:
        yield warning("packages", "hiredis is missing, so Redis is slower", "pip install 'rota[redis]'")


def _file(settings: Settings) -> Iterator[Finding]:
    """Whether the file of a SQLite store can be written and has room to grow."""
    path = store_file(settings.store)
    if path is None:
        return
    folder = path.absolute().parent
    if not folder.is_dir():
        yield problem("file", f"the folder {folder} does not exist", f"mkdir -p {folder}")
        return
    for place in [place for place in (folder, path, *_side_files(path)) if place.exists()]:
        if not os.access(place, os.W_OK):
            yield problem("file", f"{place} cannot be written", f"give this user the right to write {place}")
    yield from _disk(folder)


def _disk(folder: Path) -> Iterator[Finding]:
    """Whether the disk keeps what is written, and has room."""
    try:
        with tempfile.TemporaryFile(dir=folder) as probe:
            probe.write(b"written by rota doctor")
            probe.flush()
            os.fsync(probe.fileno())
    except OSError as error:
        yield problem("disk", f"nothing can be written to {folder}: {error}", "free some space, or see to the disk")
    free = shutil.disk_usage(folder).free
    if free < LEAST_FREE_BYTES:
        yield problem("disk", f"{free // 2**20} MiB are free at {folder}", "free some space, or move the store")
    else:
        yield ok("disk", f"{free // 2**30} GiB are free at {folder}")


def _side_files(path: Path) -> tuple[Path, ...]:
    return path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm")


def _dev_key(settings: Settings) -> Iterator[Finding]:
    if is_dev_key(settings.api_key) and not is_loopback_name(settings.host):
        where = settings.source_of("api_key")
        fix = "set HTTP_API_KEY to a key of your own, or HTTP_BIND_ADDRESS to 127.0.0.1:23071"
        yield problem("key", f"{where} is dev_key, but the server is to listen on {settings.host}", fix)


def is_loopback_name(host: str) -> bool:
    """Whether a server on it can be reached from this machine only."""
    try:
        addresses = {str(found[4][0]) for found in socket.getaddrinfo(host, None)}
    except (OSError, UnicodeError):  # it is not known, or cannot be a name
        return False
    return all(ipaddress.ip_address(address.partition("%")[0]).is_loopback for address in addresses)
