"""The heart of a node: gives its signs of life, in a thread of its own and over a connection of its own.

Nothing that runs in the node can hold it up: not user code that blocks the event loop, not a slow round of
housekeeping, not another call to the store. The claims are renewed before anything else is done. Only its own calls can
hold it up, so what must happen when nobody hears it is not its affair (`worker/held_claims.py`).
"""

import threading
from collections.abc import Callable
from typing import Protocol

from rota.clock import Clock
from rota.engine.node.health import Health
from rota.engine.observation.happenings import Fault
from rota.engine.observation.observers import Observers
from rota.errors import StoreError
from rota.model.liveness import BEATS_PER_DEATH, Contact
from rota.model.node import Node as NodeRecord
from rota.store.contract.claims import Lifeline, Renewal

_TRIES_PER_BEAT = 5
"""After a failure it tries again so much sooner."""
_STEP_S = 1.0


class ClaimHolder(Protocol):
    """What a worker is to the heart. Called from the heart's thread."""

    @property
    def is_in_haste(self) -> bool:
        """Whether something came into its hands since `held` that cannot wait until the next beat is due."""
        ...

    def held(self) -> dict[str, str]:
        """The jobs in hand, id to token."""
        ...

    def renewed(self, held: dict[str, str], renewal: Renewal, *, at: float) -> None:
        """The store heard of these, and this is what it said. `at` is when it was told, by the clock for waiting: it
        heard of them then or later."""
        ...


class Heart:
    """Beats until it is stopped."""

    def __init__(
        self,
        lifeline: Lifeline,
        *,
        node: str,
        queue: str,
        record: Callable[[], NodeRecord],
        holder: ClaimHolder | None,
        clock: Clock,
        contact: Contact,
        record_contact: Contact,
        health: Health,
        dead_after_ms: int,
        observers: Observers | None = None,
    ) -> None:
        """`contact` is that of the process with the store, `record_contact` that with the place of the nodes' records,
        which a cluster may have on another server than the claims."""
        self._lifeline = lifeline
        self._observers = observers or Observers()
        self._node = node
        self._record = record
        self._queue = queue
        self._holder = holder
        self._clock = clock
        self._contact = contact
        self._record_contact = record_contact
        self._health = health
        self._dead_after_s = dead_after_ms / 1000
        self._is_stopped = threading.Event()
        self._is_to_beat = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="rota-heart", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """End; a call that is under way takes at most its time-out."""
        self._is_stopped.set()
        self._is_to_beat.set()
        if self._thread.ident is not None:
            self._thread.join()
        self._lifeline.close()

    def beat_soon(self) -> None:
        """What the node's record says has changed, and others are to see it before the next beat would be due."""
        self._is_to_beat.set()

    def beat(self) -> float:
        """One sign of life; returns how many seconds the next one can wait. That counts from when this one began: an
        answer that comes late says nothing about the time since."""
        begun_at, pause_s = self._clock.monotonic(), self._dead_after_s / BEATS_PER_DEATH
        try:
            self._renew()
            self._lifeline.beat(self._record())
        except StoreError as error:
            self._health.store_failed("heart", error)
            pause_s /= _TRIES_PER_BEAT
        else:
            self._contact.made(self._clock.monotonic())
            self._record_contact.made(self._clock.monotonic())
            self._health.store_answered("heart")
        return max(begun_at + pause_s - self._clock.monotonic(), 0.0)

    def _renew(self) -> None:
        if self._holder is None:
            return
        at, held = self._clock.monotonic(), self._holder.held()
        renewal = self._lifeline.renew_claims(self._queue, self._node, held)
        # Whatever becomes of the record: others live by their claims too, and are judged by these.
        self._contact.made(self._clock.monotonic())
        self._holder.renewed(held, renewal, at=at)

    def _serve(self) -> None:
        while not self._is_stopped.is_set():
            self._is_to_beat.clear()
            try:
                pause_s = self.beat()
            except Exception as error:
                self._observers.tell(Fault("node", "beat failed", error))
                pause_s = self._dead_after_s / BEATS_PER_DEATH / _TRIES_PER_BEAT
            self._rest_until(self._clock.monotonic() + pause_s)

    def _rest_until(self, at: float) -> None:
        """In short steps: a wait does not count the time for which the machine was suspended, the clock does."""
        while (left_s := at - self._clock.monotonic()) > 0 and not self._is_stopped.is_set():
            if self._is_to_beat.wait(min(left_s, _STEP_S)) or (self._holder is not None and self._holder.is_in_haste):
                return
