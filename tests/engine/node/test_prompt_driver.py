"""Who drives a duty that is to be on time: a place that hangs keeps it from no other, and its end waits for it."""

import asyncio
import threading
from collections import Counter
from contextlib import suppress
from functools import partial

from rota.clock import SystemClock
from rota.engine.node.duty import Duty
from rota.engine.node.prompt_driver import PromptDriver
from rota.engine.node.rounds import Look, Rounds
from tests.patience import DEADLINE_S


class TwoPlaces:
    """A duty that looks at two places, of which the first hangs until it is let go."""

    def __init__(self) -> None:
        self._rounds = Rounds(SystemClock())
        self.is_over = threading.Event()
        self.looks: Counter[str] = Counter()
        self.threads: set[threading.Thread] = set()
        self.has_looked = threading.Semaphore(0)

    def run_once(self, now: int) -> float:
        round = self._rounds.begin()
        looks: dict[str, Look] = {place: partial(self._look_at, place) for place in ("hangs", "answers")}
        self._rounds.take(round, looks)
        round.end()
        return 0.0

    def _look_at(self, place: str) -> bool:
        self.looks[place] += 1
        self.threads.add(threading.current_thread())
        if place == "hangs":
            self.is_over.wait(DEADLINE_S)
        else:
            self.has_looked.release()
        return False

    @property
    def is_stuck(self) -> bool:
        return self._rounds.is_stuck

    def end(self) -> None:
        self.is_over.set()
        self._rounds.end()


def do_round(duty: Duty) -> float:
    return duty.run_once(0)


def test_a_place_that_hangs_keeps_nobody_from_looking_at_the_others() -> None:
    asyncio.run(drive_past_a_place_that_hangs())


async def drive_past_a_place_that_hangs() -> None:
    duty = TwoPlaces()
    driver = PromptDriver(duty, "rota-two-places", do_round=do_round)
    driving = asyncio.create_task(driver.drive())

    for _ in range(3):
        assert await asyncio.to_thread(duty.has_looked.acquire, timeout=DEADLINE_S)
    assert duty.looks["hangs"] == 1, "one look at it is under way at most"

    driving.cancel()
    with suppress(asyncio.CancelledError):
        await driving
    await driver.end()
    for thread in duty.threads:
        await asyncio.to_thread(thread.join, DEADLINE_S)
    assert not any(thread.is_alive() for thread in duty.threads)
