"""What would fire: the real definitions and the real rules, on a virtual clock. Nothing is stored.

Jobs are taken to run for a fixed time, so that overlap shows; with none they end at once.
"""

import heapq
from collections.abc import Iterable, Iterator

from msgspec import Struct, structs

from rota.model.schedules.schedule import Schedule, ScheduleState, Tick, TickStatus
from rota.model.schedules.ticking import Situation, aimed, decide
from rota.store.contract.schedules import ScheduleEntry

_LIVE = "live"


class SimulatedTick(Struct, frozen=True):
    """One tick, and whose it would be."""

    at: int
    """When it would be decided: its nominal instant, and jitter."""
    schedule: Schedule
    tick: Tick


def simulate(entries: Iterable[ScheduleEntry], start: int, end: int, *, job_ms: int = 0) -> Iterator[SimulatedTick]:
    """The ticks from `start` to `end`, both included, in the order in which they would be decided."""
    actors = [_Actor(entry, start, job_ms) for entry in entries]
    heap = [(actor.due, number) for number, actor in enumerate(actors) if actor.due is not None]
    heapq.heapify(heap)
    while heap and heap[0][0] <= end:
        now, number = heapq.heappop(heap)
        actor = actors[number]
        for tick in actor.decide(now):
            yield SimulatedTick(now, actor.schedule, tick)
        if actor.due is not None:
            heapq.heappush(heap, (max(actor.due, now + 1), number))


def _as_of(entry: ScheduleEntry, start: int) -> tuple[Schedule, ScheduleState]:
    """A schedule as it would begin at an instant. What has become of it since is not known there: in the past it has
    run nothing yet, and it was there already."""
    schedule, state = entry.schedule, structs.replace(entry.state, cursor=start - 1, jobs=())
    if entry.state.cursor is None or entry.state.cursor < start:
        return schedule, state
    unknown = structs.replace(state, runs=0, last_scheduled_at=None, last_ended=None)
    return structs.replace(schedule, created_at=min(schedule.created_at, start)), unknown


class _Actor:
    """One schedule in a simulation, with the ends of its jobs."""

    def __init__(self, entry: ScheduleEntry, start: int, job_ms: int) -> None:
        self.schedule, begin = _as_of(entry, start)
        self._job_ms = job_ms
        self._ends: list[int] = []
        self._state = aimed(self.schedule, begin, start)

    @property
    def due(self) -> int | None:
        """When it is decided next; a schedule that waits for the end of its run is looked at then."""
        if self._state.due is None and self.schedule.waits_for_end and self._ends and not self._is_over:
            return self._ends[-1]
        return self._state.due

    @property
    def _is_over(self) -> bool:
        most = self.schedule.max_runs
        return self.schedule.paused or (most is not None and self._state.runs >= most)

    def decide(self, now: int) -> tuple[Tick, ...]:
        ended = [end for end in self._ends if end <= now]
        live = tuple(_LIVE for end in self._ends if end > now)
        last_ended = max(ended) if ended and not live and self.schedule.waits_for_end else None
        situation = Situation(now=now, node="", live_jobs=live, waiting_jobs=live[1:], last_ended=last_ended)
        decision = decide(self.schedule, self._state, situation)
        self._state = decision.state
        self._ends = [end for end in self._ends if end > now] or self._ends[-1:]
        self._ends += [now + self._job_ms for tick in decision.ticks if tick.status is TickStatus.FIRED]
        return decision.ticks
