"""Running and finished jobs in keys of their own. Only on a single Redis: no other store has these keys."""

from typing import cast

import pytest

from rota.dialects.synchrony.job_keys import JobKeys
from rota.errors import StoreUnavailable
from rota.model.node import NodeType
from rota.model.triggers.durations import DAY_MS
from rota.store import Store
from rota.store.redis.link.access import RedisAccess
from rota.testing import Faults
from tests.contract.building import claim_one, enqueue, fail, finish, new_node, spec, succeed
from tests.dialects.synchrony.speaking import Speaker

pytestmark = pytest.mark.stores("redis")

QUEUE = "1bd2bf95-868a-4212-8a0a-82c7f442848e"
RUNNING, FINISHED = f"jobs_in_progress_{QUEUE}", f"jobs_finished_{QUEUE}"


class Window:
    """A store whose jobs are shown, one round at a time."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.speaker = Speaker(store)
        self.faults = Faults(self.speaker.access)
        self.keys = self._of(new_node())

    def _of(self, node: str) -> JobKeys:
        return JobKeys(self.store, cast(RedisAccess, self.faults), self.speaker.definitions, node=node)

    def other(self) -> JobKeys:
        """The same duty of another node."""
        return self._of(new_node())

    @property
    def now(self) -> int:
        return self.speaker.clock.now()

    def show(self) -> tuple[set[str], set[str]]:
        """One round; what is running and finished then, as others see it."""
        self.keys.run_once(self.now)
        return set(self.speaker.shown(RUNNING)), set(self.speaker.shown(FINISHED))

    def start(self) -> str:
        job = spec(QUEUE, now=self.now)
        enqueue(self.store, job, now=self.now)
        return job.id

    def end(self, *, failing: bool = False, at: int = 0) -> str:
        """A job that begins and ends; returns its id."""
        self.start()
        claim = claim_one(self.store, QUEUE, now=self.now)
        finish(self.store, (fail if failing else succeed)(claim, self.now + at), now=self.now)
        return claim.spec.id


@pytest.fixture
def window(store: Store) -> Window:
    found = Window(store)
    found.speaker.definitions.define_node_type(NodeType(uuid=QUEUE, name="default"))
    return found


def test_a_job_is_shown_while_it_runs_and_when_it_has_ended(window: Window) -> None:
    job_id = window.start()
    assert window.show() == (set(), set()), "it waits"
    claim = claim_one(window.store, QUEUE, now=window.now)
    assert window.show() == ({job_id}, set())

    finish(window.store, succeed(claim, window.now, {"a": []}), now=window.now)

    assert window.show() == (set(), {job_id})
    record = window.speaker.shown(FINISHED)[job_id]
    assert (record["results"], record["errors"], record["ended_at"]) == ({"a": []}, None, window.now)


def test_jobs_of_every_end_are_shown(window: Window) -> None:
    ended = {window.end(), window.end(failing=True)}
    cancelled = window.start()
    window.store.cancel_jobs([cancelled], now=window.now)

    assert window.show() == (set(), {*ended, cancelled})


def test_an_end_that_is_told_late_is_shown_too(window: Window) -> None:
    first = window.end()
    window.show()

    late = window.end(at=-2_999)

    assert window.show()[1] == {first, late}


def test_an_end_that_is_told_long_after_it_is_shown_too(window: Window) -> None:
    """Its node was cut off; another job, which ended after it, was told of before it."""
    window.start()
    claim = claim_one(window.store, QUEUE, now=window.now)
    late = succeed(claim, window.now)
    assert window.show() == ({claim.spec.id}, set())
    window.speaker.clock.advance(10_000)
    first = window.end()
    window.show()

    finish(window.store, late, now=window.now)

    assert window.show() == (set(), {first, claim.spec.id})


def test_ends_are_shown_when_a_clock_that_was_ahead_is_right_again(window: Window) -> None:
    window.speaker.clock.advance(DAY_MS)
    before = window.end()
    window.show()

    window.speaker.clock.set(window.now - DAY_MS)
    after = window.end()

    assert window.show()[1] == {before, after}


def test_a_round_that_was_cut_off_is_made_up_for(window: Window) -> None:
    ended = {window.end()}
    window.faults.before("ask", *[lambda: None] * 2, be_away)  # what was running is read; what was shown is read

    with pytest.raises(StoreUnavailable):
        window.show()
    window.speaker.clock.advance(60_000)
    ended.add(window.end())

    assert window.show()[1] == ended


def test_what_history_forgot_or_brought_back_is_no_longer_shown(window: Window) -> None:
    kept, forgotten, back = window.end(), window.end(), window.end(failing=True)
    window.show()
    window.speaker.clock.advance(60_000)

    window.store.delete_jobs([forgotten])
    window.store.retry_jobs([back], now=window.now)

    assert window.show()[1] == {kept}


def test_more_jobs_than_fit_a_page_are_all_shown(window: Window) -> None:
    enqueue(window.store, *(spec(QUEUE, now=window.now) for _ in range(1_000)), now=window.now)
    claims = window.store.claim_jobs(QUEUE, token=f"{new_node()}/1", limit=1_000, now=window.now).claims
    ids = {claim.spec.id for claim in claims}
    assert window.show() == (ids, set())

    finish(window.store, *(succeed(claim, window.now) for claim in claims), now=window.now)

    assert window.show() == (set(), ids)
    assert len(ids) == 1_000


def test_one_node_at_a_time_shows_jobs(window: Window, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rota.dialects.synchrony.job_keys._TURN_MS", 600_000)  # the machine may be slow
    window.show()
    job_id = window.end()

    window.other().run_once(window.now)
    assert window.speaker.shown(FINISHED) == {}

    assert window.show()[1] == {job_id}


def test_a_key_that_others_use_for_something_else_keeps_the_others_right(
    window: Window, caplog: pytest.LogCaptureFixture
) -> None:
    window.speaker.access.ask("set", RUNNING, "1")
    job_id = window.end()

    window.keys.run_once(window.now)
    window.keys.run_once(window.now)

    assert set(window.speaker.shown(FINISHED)) == {job_id}
    assert [record.__dict__["key"] for record in caplog.records] == [RUNNING]


def be_away() -> None:
    raise StoreUnavailable("the store is away")
