"""What keeps a stream from its duty, whoever knows of it: the stream itself, the brokers that refuse it, a watch over
the brokers, or only the time, when a thread moves no more."""

from threading import Event

from rota.clock import Clock
from rota.streaming.brokers.complaints import Complaints
from rota.streaming.brokers.watch import Watch
from rota.streaming.options import StreamOptions

_STILL_S = 60.0
"""The thread of a stream says something several times a second, or every few seconds while the brokers are away."""
_STUCK_S = 120.0
"""For so long a client of the stream was not answered while the watch was. Brokers elect leaders, and read back what
they know of transactions, in less."""


class Troubles:
    """Any thread may ask."""

    def __init__(self, options: StreamOptions, clock: Clock) -> None:
        self._clock = clock
        self._watch = Watch(options)
        self._told: str | None = "it has not reached the brokers yet"
        self._told_at = clock.monotonic()
        self._unanswered_since: float | None = None
        """Since when the stream has a trouble although the brokers are there; None if it has none."""
        self.complaints = Complaints(clock)

    def watch(self, stopping: Event) -> None:
        self._told_at = self._clock.monotonic()
        self._watch.start(stopping)

    def tell(self, trouble: str | None) -> None:
        """The stream is alive, and has this trouble; None for none."""
        self._told = trouble
        self._told_at = self._clock.monotonic()
        if trouble is None:
            self._unanswered_since = None
        elif self._unanswered_since is None or self.of_brokers is not None:
            self._unanswered_since = self._told_at

    def begin_anew(self) -> None:
        """Other clients ask the brokers from now on."""
        self._unanswered_since = None

    @property
    def is_client_stuck(self) -> bool:
        """Whether the brokers are there and do not answer the stream for so long that its own client is the reason. It
        may have forgotten all brokers for good, as the one of the group (`Turns.check_group`)."""
        since = self._unanswered_since
        return since is not None and self._clock.monotonic() - since >= _STUCK_S

    @property
    def current(self) -> str | None:
        """The one that explains the most; None if there is none."""
        return self.complaints.current or self._told or self._watch.trouble or self._standstill

    @property
    def of_brokers(self) -> str | None:
        """That they are away, or refuse this instance; None if neither is known."""
        return self.complaints.current or self._watch.trouble

    @property
    def _standstill(self) -> str | None:
        still_s = self._clock.monotonic() - self._told_at
        return f"it has stood still for {still_s:.0f} s; start this instance anew" if still_s >= _STILL_S else None
