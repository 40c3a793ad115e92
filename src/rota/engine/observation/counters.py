"""Counters of one process, for `/metrics`: what its node did since it began."""

import threading
from collections import Counter
from collections.abc import Iterable

from msgspec import Struct

from rota.engine.observation.happenings import (
    ClaimsTaken,
    DutyFailed,
    EventsJudged,
    Fault,
    JobsClaimed,
    JobsSettled,
    StoreFailed,
    TicksDecided,
)
from rota.engine.observation.observers import Observers
from rota.model.events.evaluation import Verdict
from rota.model.job import FINAL_STATES
from rota.model.schedules.schedule import TickStatus


class Figure(Struct, frozen=True):
    """Something that is counted, in all or for each value of a label."""

    name: str
    help_text: str
    label: str = ""
    values: tuple[str, ...] = ("",)


CLAIMED = Figure("jobs_claimed", "Jobs that the node of this process claimed.")
ENDED = Figure(
    "jobs_ended",
    "Jobs that ended in the hands of this node.",
    "state",
    tuple(sorted(one.value for one in FINAL_STATES)),
)
RETURNED = Figure("jobs_returned", "Jobs that this node gave back to their queue, to be tried again or by another.")
TICKS = Figure("ticks", "Ticks of schedules that this node decided.", "status", tuple(one.value for one in TickStatus))
JUDGED = Figure(
    "events_judged",
    "What events meant for configurations that they hit, in this process.",
    "verdict",
    tuple(one.value for one in Verdict),
)
STORE_FAILURES = Figure("store_failures", "How often the store stopped answering this node.")
CLAIMS_TAKEN = Figure("claims_taken", "Jobs that this node took back from dead ones.")
FAULTS = Figure("faults", "Rounds of duties that failed in this node, and other errors that nobody expected.")
FIGURES = (CLAIMED, ENDED, RETURNED, TICKS, JUDGED, STORE_FAILURES, CLAIMS_TAKEN, FAULTS)


class Counters:
    """Listens from when it is made. What several threads tell is counted once."""

    def __init__(self, observers: Observers) -> None:
        self._counts: Counter[tuple[str, str]] = Counter()
        self._lock = threading.Lock()
        observers.add(JobsClaimed, self._on_claimed)
        observers.add(JobsSettled, self._on_settled)
        observers.add(TicksDecided, self._on_ticks)
        observers.add(EventsJudged, self._on_judged)
        observers.add(ClaimsTaken, lambda taken: self._count(CLAIMS_TAKEN, taken.jobs))
        observers.add(StoreFailed, lambda _: self._count(STORE_FAILURES))
        observers.add(DutyFailed, lambda _: self._count(FAULTS))
        observers.add(Fault, lambda _: self._count(FAULTS))

    def read(self, figure: Figure) -> dict[str, int]:
        """The count for each value of its label."""
        with self._lock:
            return {value: self._counts[figure.name, value] for value in figure.values}

    def _on_claimed(self, claimed: JobsClaimed) -> None:
        self._count(CLAIMED, len(claimed.claims))

    def _on_settled(self, settled: JobsSettled) -> None:
        ended = settled.ended
        self._count_each(ENDED, (one.state.value for one in ended))
        self._count(RETURNED, len(settled.settlements) - len(ended))

    def _on_ticks(self, decided: TicksDecided) -> None:
        for tick in decided.ticks:
            self._count(TICKS, tick.count, tick.status.value)

    def _on_judged(self, judged: EventsJudged) -> None:
        self._count_each(JUDGED, (one.verdict.value for one in judged.evaluations))

    def _count(self, figure: Figure, count: int = 1, value: str = "") -> None:
        with self._lock:
            self._counts[figure.name, value] += count

    def _count_each(self, figure: Figure, values: Iterable[str]) -> None:
        with self._lock:
            self._counts.update((figure.name, value) for value in values)
