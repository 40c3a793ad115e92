"""What a node hears of its store with every beat: its clock, its troubles, what is defined, and whether to drain."""

from rota.clock import STEP_MS, NodeClock
from rota.engine.engine import Engine
from rota.engine.liveness.draining import is_drain_requested
from rota.engine.node.duty import Round
from rota.engine.node.health import Health
from rota.engine.observation.happenings import ClockFollowed, ClockJumped, StoreReplaced
from rota.model.ids import new_id

_EPOCH = "epoch"


class News:
    """See the module."""

    def __init__(self, engine: Engine, clock: NodeClock, *, node: str, health: Health) -> None:
        """`clock` is the engine's."""
        self._store = engine.store
        self._definitions = engine.definitions
        self._observers = engine.observers
        self._clock = clock
        self._node = node
        self._health = health
        self._epoch = ""

    def begin(self) -> None:
        """Remember who founded the store; the first node does."""
        self._epoch = self._store.put_setting(_EPOCH, self._node, only_if_absent=True)

    def hear(self, round: Round) -> bool:
        """Follow the store's clock and the definitions; tells whether the node is asked to drain. On a cluster these
        are on several servers: each is asked for whatever becomes of the others, and `round` has the errors."""
        steps = (self._hear_troubles, self._follow_clock, self._definitions.refresh, self._check_epoch)
        round.each(steps, lambda step: step())
        return any(round.each([self._node], lambda node: is_drain_requested(self._store, node)))

    def _hear_troubles(self) -> None:
        self._health.report("store", self._store.troubles())

    def _follow_clock(self) -> None:
        before = self._clock.offset_ms
        self._clock.follow()
        if self._clock.step_ms:
            self._observers.tell(ClockJumped(self._clock.step_ms))
        elif abs(self._clock.offset_ms - before) >= STEP_MS:
            self._observers.tell(ClockFollowed(self._clock.offset_ms - before))

    def _check_epoch(self) -> None:
        """A store that forgot who founded it was emptied or exchanged: say so, rather than pretend nothing happened.

        It is founded anew under another name, so that every node notices.
        """
        if self._store.get_setting(_EPOCH) != self._epoch:
            self._observers.tell(StoreReplaced())
            self._epoch = self._store.put_setting(_EPOCH, new_id(self._clock.now()), only_if_absent=True)
