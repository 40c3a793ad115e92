"""Wakes a node that waits for work in Redis, by a blocking pop: no polling, and one node is woken for one piece of
news.

A node that has no free slot listens to its inbox only, so that it takes no signal that was meant for an idle one.
"""

import threading

from rota.errors import StoreUnavailable
from rota.store.contract.queues import Cancellation
from rota.store.redis.keys import QueueKeys
from rota.store.redis.link.commands import Commands
from rota.store.redis.link.connection import translated_errors
from rota.store.redis.link.link import Link
from rota.store.redis.nouns.queues.signals import push_signal, read_cancellation

_LONGEST_WAIT_S = 10.0
"""A connection that was cut in silence is noticed after this time and the usual patience for an answer."""
_PATIENCE_S = 1.0


class RedisWaker:
    """One node's wait on one queue. Has a connection of its own, because a blocking pop occupies it."""

    def __init__(self, link: Link, queue: str, node: str) -> None:
        keys = QueueKeys(queue)
        self._wake, self._inbox = keys.wake, keys.inbox(node)
        self._node = node
        self._link = link
        patience_s = _LONGEST_WAIT_S + link.address.answer_timeout_s
        self._waiting_link = Link(link.address, answer_timeout_s=patience_s)
        self._waiting = threading.Lock()
        self._closed = threading.Event()

    def wait(self, timeout_s: float, *, wants_jobs: bool) -> list[Cancellation]:
        with self._waiting:
            if self._closed.is_set():
                return []
            try:
                return self._pop(timeout_s, [self._inbox, self._wake] if wants_jobs else [self._inbox])
            except StoreUnavailable:
                if self._closed.is_set():
                    return []
                raise

    def _pop(self, timeout_s: float, keys: list[str]) -> list[Cancellation]:
        with translated_errors(self._link.url):
            client: Commands = self._waiting_link.client
            # Redis takes 0 for ever, and its timer has a resolution of milliseconds.
            popped = client.blpop(keys, timeout=min(max(timeout_s, 0.001), _LONGEST_WAIT_S))
            if popped is None or popped[0].decode() == self._wake:
                return []
            return [read_cancellation(popped[1].decode(), self._node)] if popped[1] else []

    def nudge(self) -> None:
        push_signal(self._link, self._inbox, "")

    def close(self) -> None:
        self._closed.set()
        try:
            self.nudge()
        finally:
            # A wait that the nudge did not reach, because the store is away, ends when its connection does.
            ended = self._waiting.acquire(timeout=_PATIENCE_S)
            self._waiting_link.close()
            if ended:
                self._waiting.release()
