"""Who is alive: judged by whoever watches, with the watcher's own clock, and never by comparing two clocks.

A node's pulse is a text that changes with every sign of life. A watcher that saw the same pulse for the whole dead time
takes the node for dead, but only if it could see all that time: a watcher that was itself out of touch with the store
(an outage, a suspended machine, a lock on the file) begins to watch anew. Instants here are seconds of a clock that
never jumps and also counts the time for which the machine was suspended.
"""

from collections.abc import Mapping

BEATS_PER_DEATH = 4
"""A node gives a sign of life this often within the dead time."""
LOOKS_PER_DEATH = 20
"""A watcher looks this often within the dead time."""
_LONGEST_SILENCE = 0.5
"""Of the dead time, between two writes of a watcher's own. While nobody can write, nobody can give a sign of life."""
_LONGEST_BLINK = 0.25
"""Of the dead time, between two looks."""
_LET_GO = 0.75
"""Of the dead time, without a sign of life that was heard: a node stops what must not run twice."""


class Contact:
    """Since when something happened again and again without too long a gap."""

    def __init__(self, longest_gap_s: float) -> None:
        self._longest_gap_s = longest_gap_s
        self._since: float | None = None
        self._last: float | None = None

    def made(self, at: float) -> None:
        """It happened again."""
        if self._last is None or at - self._last > self._longest_gap_s:
            self._since = at
        self._last = at

    def since(self, at: float) -> float | None:
        """When the present stretch began; None if there is a gap now."""
        if self._last is None or at - self._last > self._longest_gap_s:
            return None
        return self._since


class Observer:
    """Watches the pulses of nodes."""

    def __init__(self, dead_after_s: float) -> None:
        self._dead_after_s = dead_after_s
        self._looks = Contact(dead_after_s * _LONGEST_BLINK)
        self._seen: dict[str, tuple[str, float]] = {}

    def look(self, pulses: Mapping[str, str], *, at: float, in_touch_since: float | None) -> list[str]:
        """Those who are dead, having seen these pulses at this instant. `in_touch_since` says since when the watcher
        could also write without a gap; None that it cannot now."""
        self._looks.made(at)
        watching_since = self._looks.since(at)
        seen, self._seen = self._seen, {}
        for node, pulse in pulses.items():
            before = seen.get(node)
            self._seen[node] = before if before is not None and before[0] == pulse else (pulse, at)
        if in_touch_since is None or watching_since is None:
            return []
        begin = max(in_touch_since, watching_since)
        return [node for node, (_, since) in self._seen.items() if at - max(since, begin) >= self._dead_after_s]


def contact_of_node(dead_after_s: float) -> Contact:
    """For the writes of one process."""
    return Contact(dead_after_s * _LONGEST_SILENCE)


def must_let_go(silent_s: float, dead_after_s: float) -> bool:
    """Whether a node that was not heard for this long must stop what must not run twice: others may soon take over."""
    return silent_s >= dead_after_s * _LET_GO


def let_go_grace_s(dead_after_s: float) -> float:
    """How long such a run may take to end, so that it is over before others begin."""
    return dead_after_s * (1 - _LET_GO) / 2
