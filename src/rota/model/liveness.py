"""Who is alive: judged by whoever watches, with the watcher's own clock, and never by comparing two clocks.

A node's pulse is a text that changes with every sign of life. A watcher that saw the same pulse for the whole dead time
takes the node for dead, but only if it could see all that time: a watcher that was itself out of touch with the store
(an outage, a suspended machine, a lock on the file) begins to watch anew. So it does when nothing could be written
where the node would have to: a server of a cluster may refuse that alone, and answer all who only look. Instants here
are seconds of a clock that never jumps and also counts the time for which the machine was suspended.
"""

from collections.abc import Mapping

BEATS_PER_DEATH = 4
"""A node gives a sign of life this often within the dead time."""
LOOKS_PER_DEATH = 20
"""A watcher looks this often within the dead time."""
_LONGEST_SILENCE = 0.5
"""Of the dead time, between two writes of a watcher's own. While nobody can write, nobody can give a sign of life."""
_PROOF_AFTER = 0.35
"""Of the dead time, without a write that is known of: a watcher makes one. Later than beats come, so that he need not
where somebody lives, and early enough to try more than once within the longest silence."""
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


class Writes:
    """Since when the place where some pulses are could be written, as far as one who looks at them knows: it was
    whenever they changed, whoever did it, and whenever he wrote there himself."""

    def __init__(self, dead_after_s: float) -> None:
        self._contact = contact_of_node(dead_after_s)
        self._proof_after_s = dead_after_s * _PROOF_AFTER
        self._pulses: Mapping[str, str] | None = None
        self._last: float | None = None

    def saw(self, pulses: Mapping[str, str], at: float) -> None:
        """These pulses were there at this instant, all of them."""
        if self._pulses is not None and pulses != self._pulses:
            self.made(at)
        self._pulses = pulses

    def made(self, at: float) -> None:
        """Something was written."""
        self._contact.made(at)
        self._last = at

    def need_proof(self, at: float) -> bool:
        """Whether it is time to write something."""
        return self._last is None or at - self._last >= self._proof_after_s

    def since(self, at: float) -> float | None:
        """As of a `Contact`."""
        return self._contact.since(at)


class Observer:
    """Watches the pulses of nodes."""

    def __init__(self, dead_after_s: float) -> None:
        self._dead_after_s = dead_after_s
        self._looks = Contact(dead_after_s * _LONGEST_BLINK)
        self._seen: dict[str, tuple[str, float]] = {}

    def look(self, pulses: Mapping[str, str], *, at: float, in_touch_since: float | None) -> list[str]:
        """Those who are dead, having seen these pulses at this instant. `in_touch_since` says since when the watcher
        could also write without a gap, here as well as there; None that it cannot now."""
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


def common_since(*stretches: float | None) -> float | None:
    """Since when all of some stretches last; None if one of them does not."""
    known = [since for since in stretches if since is not None]
    return max(known) if len(known) == len(stretches) else None


def contact_of_node(dead_after_s: float) -> Contact:
    """For the writes of one process."""
    return Contact(dead_after_s * _LONGEST_SILENCE)


def let_go_after_s(dead_after_s: float) -> float:
    """For how long a node may not be heard before it must stop what must not run twice: others may soon take over."""
    return dead_after_s * _LET_GO


def let_go_grace_s(dead_after_s: float) -> float:
    """How long such a run may take to end, so that it is over before others begin."""
    return dead_after_s * (1 - _LET_GO) / 2
