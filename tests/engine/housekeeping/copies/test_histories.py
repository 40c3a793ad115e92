"""Histories as they were when their queue was copied, whatever came since."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from msgspec import structs

from rota.engine.housekeeping.copies.histories import events_of, ticks_of
from rota.store import Store, open_store
from rota.store.contract.schedules import ScheduleEntry
from tests.contract.building import NOW, find, new_queue, spec
from tests.contract.events import configuring
from tests.contract.schedules import scheduling
from tests.contract.schedules.scheduling import MINUTE


@pytest.fixture
def target(tmp_path: Path) -> Iterator[Store]:
    with closing(open_store(f"sqlite:///{tmp_path}/copy.db")) as target:
        yield target


def fire(store: Store, entry: ScheduleEntry, nominal: int) -> ScheduleEntry:
    assert store.fire_schedules(entry.schedule.queue, [scheduling.firing(entry, nominal=nominal)], now=NOW) == [True]
    return scheduling.found(store, entry.schedule)


def test_ticks_that_came_after_the_copy_are_not_in_it(store: Store, target: Store) -> None:
    entry = scheduling.put(store, scheduling.schedule(new_queue()))
    copied = fire(store, fire(store, entry, NOW), NOW + MINUTE)
    fire(store, copied, NOW + 2 * MINUTE)

    ticks = ticks_of(store, target, copied.schedule, copied.state, NOW)

    assert [tick.nominal for tick in ticks] == [NOW, NOW + MINUTE]


def test_ticks_that_were_decided_before_are_in_it_wherever_the_cursor_is(store: Store, target: Store) -> None:
    entry = scheduling.put(store, scheduling.schedule(new_queue()))
    fire(store, entry, NOW + MINUTE)

    ticks = ticks_of(store, target, entry.schedule, entry.state, NOW + 1)

    assert [tick.nominal for tick in ticks] == [NOW + MINUTE]


@pytest.mark.parametrize("is_copied", [False, True])
def test_a_tick_that_was_decided_before_and_written_after_the_copy_is_told_by_its_job(
    store: Store, target: Store, is_copied: bool
) -> None:
    entry = scheduling.put(store, scheduling.schedule(new_queue()))
    queue = entry.schedule.queue
    job = spec(queue)
    assert store.fire_schedules(queue, [scheduling.firing(entry, job)], now=NOW) == [True]
    if is_copied:
        target.restore_jobs(queue, [find(store, job.id)])

    ticks = ticks_of(store, target, entry.schedule, entry.state, NOW + 1)

    assert [tick.job for tick in ticks] == ([job.id] if is_copied else [])


def test_a_tick_whose_job_is_forgotten_is_in_it(store: Store, target: Store) -> None:
    entry = scheduling.put(store, scheduling.schedule(new_queue()))
    forgotten = spec(entry.schedule.queue)
    firing = scheduling.firing(entry, forgotten)
    assert store.fire_schedules(entry.schedule.queue, [structs.replace(firing, specs=())], now=NOW) == [True]

    ticks = ticks_of(store, target, entry.schedule, entry.state, NOW + 1)

    assert [tick.job for tick in ticks] == [forgotten.id]


def test_events_that_came_after_the_copy_are_not_in_it(store: Store) -> None:
    entry = configuring.put(store, configuring.configuration(new_queue(), configuring.dependency("a")))
    queue = entry.configuration.queue
    for number in (1, 2, 3):
        entry = configuring.found(store, entry.configuration)
        if number == 3:
            copied = entry
        verdicts = configuring.verdicts(entry, configuring.event("a", at=NOW + number, own_id=str(number)))
        assert store.apply_verdicts(queue, [verdicts], now=NOW)[0].done

    found = events_of(store, copied)

    assert [one.event.id for one in found.evaluations] == ["2", "1"]
    assert [one.event.id for one in found.validations] == ["2", "1"]
