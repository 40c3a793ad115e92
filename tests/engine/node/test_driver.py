"""What drives the duties of a node: one that fails is tried again, and said to fail until it does not."""

import asyncio
from collections.abc import Callable

import pytest

from rota.clock import SystemClock
from rota.engine.node.driver import Driver
from rota.engine.node.health import Health
from rota.engine.observation.happenings import DutyFailed, StoreAnswered, StoreFailed
from rota.testing.faults import away
from tests.engine.observation.hearing import Heard
from tests.engine.working import until


class Scripted:
    """A duty of which each round does the next thing that a test says; then they are good."""

    def __init__(self, *rounds: Callable[[], object]) -> None:
        self._rounds = list(rounds)
        self.good = 0

    def run_once(self, now: int) -> float:
        if self._rounds:
            self._rounds.pop(0)()
        self.good += 1
        return 0.0


def break_down() -> None:
    raise KeyError("x")


def test_a_duty_that_the_store_refuses_is_well_again_with_a_good_round_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is told once, however long it lasts, and whoever else is answered meanwhile."""
    monkeypatch.setattr("rota.engine.node.driver._AFTER_ERROR_S", 0.0)

    async def scene() -> None:
        told = Heard()
        health = Health(told.observers)
        driver = Driver(SystemClock(), health, told.observers)
        seen: list[str | None] = []
        refused, other = Scripted(*[away] * 3, lambda: seen.append(health.trouble)), Scripted()

        driver.drive([other], driver.housekeeping)
        await until(lambda: other.good > 0, "another duty to do its rounds")
        driver.drive([refused], driver.ticks)
        await until(lambda: refused.good > 1, "the duty to be answered")
        trouble = health.trouble
        await driver.stop()
        await driver.end()

        assert (seen, trouble) == (["store unavailable: the store is away, as the test wants it"], None)
        assert (len(told.of(StoreFailed)), len(told.of(StoreAnswered))) == (1, 1)

    asyncio.run(scene())


def test_a_fault_in_a_duty_is_told_and_the_duty_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """The store has nothing to do with it."""
    monkeypatch.setattr("rota.engine.node.driver._AFTER_ERROR_S", 0.0)

    async def scene() -> None:
        told = Heard()
        health = Health(told.observers)
        driver = Driver(SystemClock(), health, told.observers)
        duty = Scripted(break_down)

        driver.drive([duty], driver.ticks)
        await until(lambda: duty.good > 0, "the duty to go on")
        await driver.stop()
        await driver.end()

        assert [one.duty for one in told.of(DutyFailed)] == ["Scripted"]
        assert health.trouble is None

    asyncio.run(scene())
