"""Histories as they were when their queue was copied, whatever came since."""

from rota.engine.housekeeping.copies.histories import events_of, ticks_of
from rota.store import Store
from rota.store.contract.schedules import ScheduleEntry
from tests.contract.building import NOW, new_queue
from tests.contract.events import configuring
from tests.contract.schedules import scheduling
from tests.contract.schedules.scheduling import MINUTE


def fire(store: Store, entry: ScheduleEntry, nominal: int) -> ScheduleEntry:
    assert store.fire_schedules(entry.schedule.queue, [scheduling.firing(entry, nominal=nominal)], now=NOW) == [True]
    return scheduling.found(store, entry.schedule)


def test_ticks_that_came_after_the_copy_are_not_in_it(store: Store) -> None:
    entry = scheduling.put(store, scheduling.schedule(new_queue()))
    copied = fire(store, fire(store, entry, NOW), NOW + MINUTE)
    fire(store, copied, NOW + 2 * MINUTE)

    ticks = ticks_of(store, copied.schedule, copied.state, NOW)

    assert [tick.nominal for tick in ticks] == [NOW, NOW + MINUTE]


def test_ticks_that_were_decided_before_are_in_it_wherever_the_cursor_is(store: Store) -> None:
    entry = scheduling.put(store, scheduling.schedule(new_queue()))
    fire(store, entry, NOW + MINUTE)

    ticks = ticks_of(store, entry.schedule, entry.state, NOW + 1)

    assert [tick.nominal for tick in ticks] == [NOW + MINUTE]


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
