"""From a URL to a Redis client, and Redis's errors as ours.

redis-py's own retries are off: a claim whose answer was lost must not be repeated unseen (its jobs would have an owner
that does not know of them), so every caller decides for itself. `cluster.py` does the same for a Redis Cluster.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

import redis
from redis.backoff import NoBackoff
from redis.cluster import RedisCluster
from redis.exceptions import (
    AskError,
    AuthenticationError,
    BusyLoadingError,
    ClusterDownError,
    ClusterError,
    MasterDownError,
    OutOfMemoryError,
    ReadOnlyError,
    RedisClusterException,
    RedisError,
    ResponseError,
    TryAgainError,
)
from redis.exceptions import (
    ConnectionError as RedisConnectionError,
)
from redis.exceptions import (
    TimeoutError as RedisTimeoutError,
)
from redis.retry import Retry
from redis.sentinel import MasterNotFoundError, Sentinel

from rota.errors import InvalidInput, StoreError, StoreFull, StoreRefused, StoreUnavailable
from rota.model.access.masking import mask_url
from rota.store.redis.link.cluster import Cluster
from rota.store.redis.link.packing import pack_quickly

CONNECT_TIMEOUT_S = 5.0
_ANSWER_TIMEOUT_S = 10
_MOST_CONNECTIONS = 2**31 - 1
"""No bound of ours: there are as many as threads that ask at once, and these wait for the server. redis-py 8 by itself
refuses the 101st, at once."""
_OLDEST_SERVER = (6, 2)
_CODE = re.compile(r"^[A-Z]+(?= )|(?<=: )-[A-Z]+ ")
_PASSING = (
    RedisConnectionError,
    RedisTimeoutError,
    AskError,
    BusyLoadingError,
    ClusterDownError,
    ClusterError,
    MasterDownError,
    MasterNotFoundError,
    ReadOnlyError,
    RedisClusterException,
    TryAgainError,
)


class Address:
    """A parsed store URL."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        scheme, _, kind = parts.scheme.partition("+")
        self.kind = "sentinel" if scheme == "sentinel" else kind or "single"
        self.is_tls = scheme in ("rediss", "valkeys")
        self.username = unquote(parts.username) if parts.username else None
        self.password = unquote(parts.password) if parts.password else None
        self.options = dict(parse_qsl(parts.query))
        default_port = 26379 if self.kind == "sentinel" else 6379
        self.hosts = [_host(url, part, default_port) for part in _host_list(parts.netloc)]
        path = [part for part in parts.path.split("/") if part]
        self.service = path.pop(0) if self.kind == "sentinel" and path else "mymaster"
        self.database = _database(url, path)
        self.wait_replicas = _count(url, "wait_replicas", self.options.get("wait_replicas", "0"))
        """So many replicas confirm an enqueue before it is acknowledged."""
        self.history_max_bytes = _count(url, "history_max_bytes", self.options.get("history_max_bytes", "0"))
        """What the ended jobs of one queue may take, about; 0 is no limit."""
        patience = self.options.get("answer_timeout_s", str(_ANSWER_TIMEOUT_S))
        self.answer_timeout_s = _count(url, "answer_timeout_s", patience) or _ANSWER_TIMEOUT_S
        """A server that says nothing for so long does not answer."""
        if self.kind == "cluster" and self.database:
            raise InvalidInput("store", f"{self.shown!r}: a Redis Cluster has database 0 only")

    @property
    def shown(self) -> str:
        """The URL without secrets."""
        hosts = ",".join(f"{host}:{port}" for host, port in self.hosts)
        scheme = {"single": "redis", "cluster": "redis+cluster", "sentinel": "sentinel"}[self.kind]
        path = f"/{self.service}/{self.database}" if self.kind == "sentinel" else f"/{self.database}"
        query = f"?{urlencode(self.options)}" if self.options else ""
        return mask_url(f"{scheme}://{hosts}{'' if self.kind == 'cluster' else path}{query}")

    def connect(self, *, answer_timeout_s: float | None = None, on_connect: Callable[[], object] = lambda: None) -> Any:
        """A client, which tells of every connection that it makes. One that waits in a blocking pop needs more time for
        an answer than the address says."""

        def greet(connection: Any) -> None:
            if self.kind != "cluster":
                connection.on_connect()  # which the client of a cluster has done
            on_connect()

        timeout_s = answer_timeout_s or self.answer_timeout_s
        connect_timeout_s = min(CONNECT_TIMEOUT_S, timeout_s)
        options: dict[str, Any] = {
            "username": self.username,
            "password": self.password,
            "socket_timeout": timeout_s,
            "socket_connect_timeout": connect_timeout_s,
            "socket_keepalive": True,
            "max_connections": _MOST_CONNECTIONS,
            "client_name": "rota",
            "protocol": 2,
            "redis_connect_func": greet,
        }
        if self.is_tls:
            options |= {"ssl": True} | ({"ssl_ca_certs": ca} if (ca := self.options.get("ssl_ca_certs")) else {})
        if self.kind == "cluster":
            return Cluster(self.hosts, options)
        options |= {"db": self.database, "retry": Retry(NoBackoff(), 0)}
        if self.kind == "sentinel":
            # They are asked one after the other, and together have the time that one server has.
            each_s = connect_timeout_s / len(self.hosts)
            ways: dict[str, Any] = {"socket_timeout": each_s, "socket_connect_timeout": each_s}
            ways |= {"retry": Retry(NoBackoff(), 0), "protocol": 2}
            sentinels: Any = Sentinel(self.hosts, sentinel_kwargs=ways)  # type: ignore[no-untyped-call]
            client = sentinels.master_for(self.service, redis_class=redis.Redis, **options)
        else:
            host, port = self.hosts[0]
            client = redis.Redis(host=host, port=port, **options)
        pack_quickly(client)
        return client


@contextmanager
def translated_errors(where: str) -> Iterator[None]:
    """Redis's errors as ours: what may pass is `StoreUnavailable`."""
    try:
        yield
    except (RedisError, RedisClusterException) as error:
        raise _translate(where, error) from error
    except OSError as error:
        raise StoreUnavailable(f"{where}: {error}") from error


def _translate(where: str, error: RedisError | RedisClusterException) -> StoreError:
    text = str(error)
    code = code_of(text)
    if isinstance(error, OutOfMemoryError) or code in ("OOM", "MISCONF"):
        return StoreFull(f"{where}: {text}; give the server room and try again")
    if isinstance(error, AuthenticationError) or code in ("NOAUTH", "WRONGPASS", "NOPERM"):
        return StoreRefused(f"{where}: {text}; check the user and password in the store URL")
    if isinstance(error, _PASSING) or code in ("LOADING", "CLUSTERDOWN", "READONLY", "NOREPLICAS"):
        return StoreUnavailable(f"{where}: {text or type(error).__name__}")
    return StoreError(f"{where}: {text}")


def code_of(text: str) -> str:
    """The word with which Redis names an error. Before Redis 7, one that a script met is told within another's text."""
    found = _CODE.search(text)
    return found[0].strip(" -") if found else ""


def check_server(client: Any, where: str) -> list[str]:
    """Refuse a server that would lose jobs by itself; returns what an operator should know."""
    infos = infos_of(client)
    for info in infos:
        version = tuple(int(part) for part in str(info.get("redis_version", "0")).split(".")[:2])
        if version < _OLDEST_SERVER:
            raise StoreRefused(f"{where} is Redis {info.get('redis_version')}; Rota needs 6.2 or later")
        policy = info.get("maxmemory_policy", "noeviction")
        if policy != "noeviction":
            raise StoreRefused(
                f"{where} has maxmemory-policy {policy}, which drops jobs when memory is short; "
                "set it to noeviction (CONFIG SET maxmemory-policy noeviction)"
            )
    return _persistence_problems(client, infos)


def infos_of(client: Any) -> list[dict[str, Any]]:
    """What each primary says of itself."""
    if isinstance(client, RedisCluster):
        # One by one: asked together, a single one answers in another shape.
        primaries: list[Any] = client.get_primaries()  # type: ignore[no-untyped-call]
        return [client.info(target_nodes=one) for one in primaries]
    return [client.info()]


def _persistence_problems(client: Any, infos: list[dict[str, Any]]) -> list[str]:
    if any(info.get("aof_enabled") for info in infos):
        return []
    try:
        saves = client.config_get("save")
    except ResponseError:
        return []  # a managed server that hides its settings has its own ways to persist
    if isinstance(client, RedisCluster) or saves.get("save"):
        return ["no append-only file: a crash of the server may lose the jobs of the last minutes (set appendonly yes)"]
    return ["nothing is persisted: a restart of the server loses all jobs (set appendonly yes)"]


def _host_list(netloc: str) -> list[str]:
    return netloc.rpartition("@")[2].split(",")


def _host(url: str, text: str, default_port: int) -> tuple[str, int]:
    parts = urlsplit(f"//{text}")
    try:
        (parts.hostname or "").encode("idna")  # what cannot be a name, such as a..b, is found by no resolver
        return parts.hostname or "127.0.0.1", parts.port or default_port
    except ValueError:
        # Not the part alone: a password with `#` or `?` in it, as it is, ends the host too early and is a part of it.
        raise InvalidInput("store", f"{mask_url(url)!r} does not name its servers as host:port") from None


def _count(url: str, name: str, text: str) -> int:
    if not text.isdigit():
        raise InvalidInput("store", f"{mask_url(url)!r}: {name} must be a number, such as 1")
    return int(text)


def _database(url: str, path: list[str]) -> int:
    if not path:
        return 0
    if len(path) > 1 or not path[0].isdigit():
        raise InvalidInput("store", f"{mask_url(url)!r} must end in a database number, such as /0")
    return int(path[0])
