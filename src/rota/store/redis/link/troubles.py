"""What is wrong with a Redis right now: it refuses writes, its memory is full, a fail-over lost what was acknowledged.

A server that refuses to write still answers reads, so a small write is tried each time, on each server of a cluster. It
raises a number; one that went back tells that acknowledged writes are gone. What a fail-over lost is also told by
replication offsets, as far as they were seen: a replica that took over says up to where it had followed. What was
written and lost between two looks leaves no trace in either, so every fail-over is told, as one that may have lost
something.

A loss cannot be mended. It is told for a minute, so that logs and metrics have it; longer it would keep those away who
ask a server for its health before they use it. What certainly was lost stays in the store for a day, for the doctor.
"""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from redis.exceptions import OutOfMemoryError, ReadOnlyError, ResponseError

from rota.clock import as_datetime
from rota.store.redis.keys import LOSSES, PROBE, PROBES
from rota.store.redis.link.cluster import Cluster
from rota.store.redis.link.commands import Commands
from rota.store.redis.link.connection import code_of, infos_of
from rota.store.redis.link.link import Link

TOLD_FOR_S = 60.0
KEPT_FOR_MS = 24 * 3600 * 1000
_REASONS = {
    "OOM": "its memory is full; raise maxmemory, or keep less history",
    "MISCONF": "it could not save to its disk; see its log and the disk's free space",
    "READONLY": "it is a replica; see that the store URL names the primary, or use sentinel://",
    "NOREPLICAS": "too few replicas follow it (min-replicas-to-write)",
}


class Troubles:
    """Looks at the servers of one store, and remembers what it saw."""

    def __init__(self, link: Link, monotonic: Callable[[], float]) -> None:
        self._link = link
        self._monotonic = monotonic
        self._looking = threading.Lock()
        self._counts: dict[str, int] = {}
        self._offsets: dict[str, int] = {}
        self._losses: dict[str, float] = {}
        """What was lost, and when that was noticed."""

    @property
    def _redis(self) -> Commands:
        """Not repeated, and with the driver's errors: what is refused is what is looked for."""
        client: Commands = self._link.client
        return client

    def look(self) -> list[str]:
        """All that is wrong, one sentence each. Raises what the driver raises when the servers cannot be reached."""
        with self._looking:
            found = list(self._refusals())
            for info in infos_of(self._link.client):
                found += _server_troubles(info)
                self._watch_fail_over(info)
            end = self._monotonic() - TOLD_FOR_S
            self._losses = {loss: at for loss, at in self._losses.items() if at > end}
            return list(dict.fromkeys([*found, *self._losses]))

    def _refusals(self) -> Iterator[str]:
        client = self._link.client
        if not isinstance(client, Cluster):
            yield from self._refusal(PROBE, "")
            return
        for server, key in client.one_key_each(PROBES).items():
            yield from self._refusal(key, f" on {server}")

    def _refusal(self, key: str, where: str) -> Iterator[str]:
        try:
            count = int(self._redis.incr(key))
        except ResponseError as error:
            yield f"the store refuses to write{where}: {_reason(error)}"
            return
        if count <= self._counts.get(key, 0):
            self._keep("the store lost writes that it had acknowledged: a number in it went back; compare what it has")
        self._counts[key] = count

    def _watch_fail_over(self, info: Mapping[str, Any]) -> None:
        replid, offset = str(info.get("master_replid", "")), int(info.get("master_repl_offset", 0))
        before, followed_to = str(info.get("master_replid2", "")), int(info.get("second_repl_offset", -1)) - 1
        if replid not in self._offsets and before in self._offsets:
            missing = self._offsets.pop(before) - followed_to
            if missing > 0:
                self._keep(f"a fail-over lost at least {missing} bytes of writes that the store had acknowledged")
            else:
                self._lose("a fail-over took place; what was acknowledged in the last moment before may be lost")
        self._offsets[replid] = max(offset, self._offsets.get(replid, 0))

    def _lose(self, what: str) -> None:
        self._losses[what] = self._monotonic()

    def _keep(self, loss: str) -> None:
        """Tell what certainly is lost, and keep it for whoever looks later."""
        self._lose(loss)
        now = self._link.now()
        with suppress(ResponseError):  # a server that refuses to write is told anyway
            self._redis.zadd(LOSSES, {loss: now})
            self._redis.zremrangebyscore(LOSSES, "-inf", now - KEPT_FOR_MS)

    def past(self) -> list[str]:
        """What was lost within a day, by whoever it was noticed."""
        kept = self._link.commands.zrangebyscore(LOSSES, self._link.now() - KEPT_FOR_MS, "+inf", withscores=True)
        return [f"{loss.decode()} ({as_datetime(int(at)):%Y-%m-%d %H:%M} UTC)" for loss, at in kept]


def _reason(error: ResponseError) -> str:
    code = code_of(str(error))
    if isinstance(error, OutOfMemoryError):
        code = "OOM"
    elif isinstance(error, ReadOnlyError):
        code = "READONLY"
    return _REASONS.get(code, str(error))


def _server_troubles(info: Mapping[str, Any]) -> Iterator[str]:
    """What a server says of itself."""
    for field, what in (
        ("aof_last_write_status", "write its append-only file"),
        ("rdb_last_bgsave_status", "save a snapshot"),
        ("aof_last_bgrewrite_status", "rewrite its append-only file"),
    ):
        if info.get(field, "ok") != "ok":
            yield f"the store's server could not {what}; see its log and the disk's free space"
