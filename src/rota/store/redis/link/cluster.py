"""redis-py's client of a Redis Cluster, made to fail like that of a single server.

By itself it repeats a call ten times and looks up the cluster's layout before it reports an error, asking one server
after the other, each with the full time-out. A claim that is repeated unseen leaves jobs with an owner that does not
know of them, and a cluster that hangs would hold its caller for minutes. So nothing is repeated here: every caller
decides for itself. Redirections are followed, for a redirected call was not carried out. The layout is looked up
beside the caller, who waits a moment for it.
"""

import logging
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from redis.backoff import NoBackoff
from redis.cluster import ClusterNode, RedisCluster
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError
from redis.retry import Retry

from rota.store.redis.link.commands import Value

REFRESH_PATIENCE_S = 1.0
"""How long a failed or redirected call waits for the new layout. A server that is well answers within milliseconds."""
_logger = logging.getLogger("rota.store")


class Cluster(RedisCluster):
    """A client that tries once."""

    def __init__(self, hosts: list[tuple[str, int]], options: dict[str, Any]) -> None:
        nodes = [ClusterNode(host, port) for host, port in hosts]  # type: ignore[no-untyped-call]
        super().__init__(startup_nodes=nodes, retry=Retry(NoBackoff(), 0), **options)
        self.nodes_manager.initialize = _Refresh(self.nodes_manager.initialize)  # type: ignore[method-assign]

    def one_key_each(self, keys: Iterable[str]) -> dict[str, str]:
        """By address of a primary the first of some keys that it has. They are the same ones when another server takes
        its place."""
        primaries = {nodes[0].name for nodes in self.nodes_manager.slots_cache.values()}
        found: dict[str, str] = {}
        for key in keys:
            found.setdefault(self.get_node_from_key(key).name, key)  # type: ignore[no-untyped-call]
            if len(found) == len(primaries):
                break
        return found

    def by_server(self, keys: Sequence[str]) -> dict[str, list[int]]:
        """The numbers of those keys that each server has, as far as is known. A key that none has is by itself."""
        groups: dict[str, list[int]] = {}
        for number, key in enumerate(keys):
            nodes = self.nodes_manager.slots_cache.get(self.keyslot(key))  # type: ignore[no-untyped-call]
            groups.setdefault(nodes[0].name if nodes else key, []).append(number)
        return groups

    def send_together(self, key: str, commands: Iterable[Sequence[Value]]) -> list[Any]:
        """What the server of a key answers to commands that go to it in one round trip; redirections and other errors
        are among the answers. If it does not answer at all the layout is looked up, as after any other call."""
        node = self.get_node_from_key(key)  # type: ignore[no-untyped-call]
        pipeline = self.get_redis_connection(node).pipeline(transaction=False)
        for command in commands:
            pipeline.execute_command(*command)  # type: ignore[no-untyped-call]
        try:
            return list(pipeline.execute(raise_on_error=False))
        except (RedisConnectionError, RedisTimeoutError):
            self.nodes_manager.initialize()
            raise


class _Refresh:
    """Looks up the layout in a thread of its own, one at a time."""

    def __init__(self, look_up: Callable[..., None]) -> None:
        self._look_up = look_up
        self._lock = threading.Lock()
        self._under_way: threading.Thread | None = None

    def __call__(self, *args: Any, **options: Any) -> None:
        with self._lock:
            if self._under_way is None or not self._under_way.is_alive():
                self._under_way = threading.Thread(
                    target=self._try, args=(args, options), name="rota-cluster-layout", daemon=True
                )
                self._under_way.start()
            thread = self._under_way
        thread.join(REFRESH_PATIENCE_S)

    def _try(self, args: tuple[Any, ...], options: dict[str, Any]) -> None:
        try:
            self._look_up(*args, **options)
        except Exception as error:  # the driver raises many kinds; the caller is told of the one that led here
            _logger.debug("no server told the cluster's layout", extra={"error": str(error)})
