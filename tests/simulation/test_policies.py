"""Whatever happens to a schedule, every one of its instants is accounted for exactly once."""

from collections import Counter

import hypothesis.strategies as st
from hypothesis import given, settings

from rota.clock import ManualClock
from rota.model.job_type import Unique
from rota.model.schedules.request import CatchUpRequest, Frequency
from rota.model.triggers.trigger import count_nominals, nominals_between
from rota.store import open_store
from tests.engine.schedules.installation import START, SchedulesInstallation

TIMES: list[dict[str, object]] = [
    {"cron": "* * * * *"},
    {"cron": "*/7 * * * *"},
    {"cron": "*/20 * * * * *"},
    {"cron": "H/15 * * * *"},
    {"interval": 45_000, "anchor": "epoch"},
    {"interval": 90_000, "anchor": "start"},
    {"frequency": Frequency("MINUTES", 2)},
    {"cron": "0,30 * * * *", "jitter": "40s"},
]
POLICIES = st.fixed_dictionaries(
    {
        "overlap": st.sampled_from(["skip", "buffer_one", "buffer_all", "cancel_other", "terminate_other", "allow"]),
        "catch_up": st.builds(
            CatchUpRequest,
            mode=st.sampled_from(["none", "last", "all"]),
            window=st.sampled_from(["10s", "5m", "1h"]),
            max=st.integers(1, 20),
        ),
        "exclude": st.sampled_from([[], ["2023-11-14"], ["2023-11-15"]]),
        "pause_on_failure": st.booleans(),
        "max_runs": st.sampled_from([None, None, 3]),
    }
)
STEPS = st.one_of(
    st.tuples(st.just("pass"), st.integers(1, 300_000)),
    st.tuples(st.just("sleep"), st.integers(1, 3 * 3_600_000)),
    st.tuples(st.just("back"), st.integers(1, 600_000)),
    st.tuples(st.sampled_from(["tick", "end", "fail", "pause", "resume"]), st.integers(0, 0)),
)


def do(installation: SchedulesInstallation, uuid: str, step: str, amount: int) -> None:
    match step:
        case "pass":
            installation.clock.advance(amount)
            installation.tick()
        case "sleep":
            installation.clock.advance(amount)
        case "back":
            installation.clock.set(installation.clock.now() - amount)
        case "tick":
            installation.tick()
        case "end" | "fail":
            for claim in installation.claim(limit=3):
                installation.end(claim, well=step == "end")
        case "pause":
            installation.schedules.pause(uuid)
        case "resume":
            installation.schedules.resume(uuid)


@given(st.sampled_from(TIMES), POLICIES, st.sampled_from(Unique), st.lists(STEPS, max_size=25))
@settings(max_examples=150)
def test_every_instant_is_accounted_for_exactly_once(
    times: dict[str, object], policies: dict[str, object], unique: Unique, steps: list[tuple[str, int]]
) -> None:
    store = open_store("sqlite://:memory:")
    installation = SchedulesInstallation(store, ManualClock(START))
    installation.define(unique=unique)
    try:
        check(installation, {**times, **policies}, steps)
    finally:
        store.close()


def check(installation: SchedulesInstallation, wish: dict[str, object], steps: list[tuple[str, int]]) -> None:
    uuid = installation.schedule(**wish)
    for step, amount in steps:
        do(installation, uuid, step, amount)

    entry = installation.schedules.find(uuid)
    schedule, state = entry.schedule, entry.state
    progress, cursor = schedule.progress(state), state.cursor or 0
    assert sum(state.counts.values()) == count_nominals(schedule.trigger, START - 1, cursor, progress)
    told: list[int] = []
    for row in installation.rows(uuid):
        some = list(nominals_between(schedule.trigger, row.nominal - 1, row.until or row.nominal, progress))
        assert len(some) == row.count
        told += some
    assert told == list(nominals_between(schedule.trigger, START - 1, cursor, progress))
    fates = Counter[str]()
    for fate, row in zip(installation.fates(uuid), installation.rows(uuid), strict=True):
        fates[fate] += row.count
    assert state.counts == fates
    assert state.runs == fates["fired"] == installation.store.read_totals(installation.queue).enqueued
