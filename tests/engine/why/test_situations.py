"""The situations of docs/why.md, on every store: each has one code, and a sentence that names what is in the way."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest
from msgspec import structs

from rota.engine.events.request import read_event
from rota.engine.node.options import SCHEDULER, WORKER
from rota.model.events.configuration_request import read_configuration
from rota.model.events.event import shown_time
from rota.model.job import Claim
from rota.model.job_type import Unique
from rota.model.node import Node
from rota.model.rate import Rate
from rota.model.runs.outcome import failed
from rota.model.runs.retry import RetryPolicy
from rota.model.runs.settlement import settle
from rota.model.schedules.schedule import Overlap
from rota.model.why.answer import Answer, Code
from rota.model.why.words import until
from rota.store import Store
from tests.contract.building import beat, new_node
from tests.engine.events.installation import needs
from tests.engine.schedules.installation import MINUTE, START, SchedulesInstallation

PAGE = Path(__file__).parents[3] / "docs/why.md"
SITUATIONS: dict[int, Code] = {}
Test = TypeVar("Test", bound=Callable[..., None])


def situation(number: int, code: Code) -> Callable[[Test], Test]:
    """The test is about this row of the page."""

    def keep(test: Test) -> Test:
        assert number not in SITUATIONS
        SITUATIONS[number] = code
        return test

    return keep


class WhyInstallation(SchedulesInstallation):
    """An installation with one node, which is there and does nothing by itself."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.define()
        self.node = Node(
            uuid=new_node(), node_type=self.queue, last_ping=START, slots=2, roles=(SCHEDULER, WORKER), host="here"
        )
        self.show_node()

    def show_node(self, **changes: object) -> None:
        self.node = structs.replace(self.node, last_ping=self.clock.now(), **changes)
        beat(self.store, self.node)

    def claim_one(self) -> Claim:
        (claim,) = self.claim(limit=1)
        return claim

    def configure(self, *dependencies: dict[str, object], **more: object) -> None:
        wish = {"name": "c", "job": {"job_type": "report"}, "dependencies": list(dependencies), **more}
        self.engine.configurations.create(read_configuration(wish, ()))

    def post(self, type: str, resource: str, at: int | None = None, **more: object) -> None:
        now = self.clock.now()
        stated = shown_time((now if at is None else at) * 1_000)
        body = {"eventType": type, "eventResourceId": resource, "eventTimestamp": stated, **more}
        self.engine.events.post([read_event(body, now, ())])


@pytest.fixture
def installation(store: Store) -> WhyInstallation:
    return WhyInstallation(store)


def codes(answer: Answer) -> list[Code]:
    return [answer.lead.code, *(one.code for one in answer.also)]


# -- jobs ----------------------------------------------------------------------------------------------------------


@situation(1, Code.NOT_DUE)
def test_a_job_for_later_is_not_due(installation: WhyInstallation) -> None:
    job = installation.enqueue(delay_ms=5 * MINUTE)

    found = installation.engine.why.job(job)

    assert codes(found) == [Code.NOT_DUE]
    assert found.lead.until == installation.clock.now() + 5 * MINUTE
    assert found.lead.sentence == "It waits until 2023-11-14 22:19:01 UTC, 5 minutes from now."


@situation(2, Code.BACKING_OFF)
def test_a_job_that_failed_and_is_tried_again_is_backing_off(installation: WhyInstallation) -> None:
    job = installation.enqueue()
    now = installation.clock.now()
    policy = RetryPolicy(attempts=3, delay_ms=MINUTE, jitter=0)
    failure = settle(installation.claim_one(), failed("no luck"), policy=policy, started_at=now, now=now, chance=0)
    installation.store.finish_jobs(installation.queue, [failure], now=now)

    found = installation.engine.why.job(job)

    assert codes(found) == [Code.BACKING_OFF]
    assert (found.lead.until, found.lead.attempts, found.lead.error) == (now + MINUTE, 1, "no luck")
    assert found.lead.sentence.startswith("Attempt 1 failed: no luck; the next one waits until ")


@situation(3, Code.PAUSED)
def test_a_job_in_a_paused_queue_is_paused(installation: WhyInstallation) -> None:
    job = installation.enqueue()
    installation.engine.queues.pause("default")

    found = installation.engine.why.job(job)

    assert codes(found) == [Code.PAUSED]
    assert found.lead.node_type == "default"
    assert "rota queues resume default" in found.lead.sentence


@situation(4, Code.NO_LIVE_NODE)
def test_a_job_whose_nodes_are_gone_has_no_live_node(installation: WhyInstallation) -> None:
    job = installation.enqueue()
    installation.clock.advance(MINUTE)

    found = installation.engine.why.job(job)

    assert codes(found) == [Code.NO_LIVE_NODE]
    assert (found.lead.node_type, found.lead.nodes) == ("default", ())


@situation(5, Code.NO_LIVE_NODE)
def test_a_job_whose_only_node_is_draining_has_no_live_node(installation: WhyInstallation) -> None:
    job = installation.enqueue()
    installation.show_node(draining=True)

    found = installation.engine.why.job(job)

    assert codes(found) == [Code.NO_LIVE_NODE]
    assert found.lead.nodes == (installation.node.uuid,)
    assert "draining" in found.lead.sentence


@situation(6, Code.AT_CAPACITY)
def test_a_job_that_finds_all_slots_taken_is_at_capacity(installation: WhyInstallation) -> None:
    installation.enqueue()
    installation.enqueue()
    installation.claim()
    job = installation.enqueue()

    found = installation.engine.why.job(job)

    assert codes(found) == [Code.AT_CAPACITY]
    assert (found.lead.running, found.lead.slots, found.lead.nodes) == (2, 2, (installation.node.uuid,))


@situation(7, Code.BEHIND)
def test_a_job_with_others_before_it_is_behind_them(installation: WhyInstallation) -> None:
    installation.enqueue()
    job = installation.enqueue()
    installation.enqueue(priority=5)
    installation.enqueue()

    found = installation.engine.why.job(job)

    assert codes(found) == [Code.BEHIND]
    assert found.lead.ahead == 2
    assert found.lead.sentence == "2 jobs are before it in the queue 'default'."


@situation(8, Code.LOCK_HELD)
def test_a_job_that_waits_for_another_one_of_its_type_names_it(installation: WhyInstallation) -> None:
    installation.define("single", unique=Unique.WHILE_RUNNING)
    holder, job, third = (installation.enqueue("single") for _ in range(3))
    installation.claim_one()

    found = installation.engine.why.job(job)

    assert codes(found) == [Code.LOCK_HELD]
    assert found.lead.job == holder
    assert found.lead.sentence == f"It waits for job {holder}: only one of 'single' runs at a time."
    installation.claim()
    last = installation.engine.why.job(third).lead
    assert (last.code, last.job, last.ahead) == (Code.LOCK_HELD, holder, 1)


@situation(28, Code.RATE_LIMITED)
def test_a_job_whose_rate_is_used_up_says_until_when(installation: WhyInstallation) -> None:
    installation.define("mail", rate=Rate(1, MINUTE))
    installation.define("sms", rate=Rate(1, MINUTE), rate_key="{host}")
    installation.show_node(slots=9)
    _, job, last = (installation.enqueue("mail") for _ in range(3))
    _, other = (installation.enqueue("sms", {"host": "acme"}) for _ in range(2))
    installation.claim()

    found = installation.engine.why.job(job)

    assert codes(found) == [Code.RATE_LIMITED]
    assert found.lead.until == START + MINUTE
    assert found.lead.sentence == (
        f"It waits {until(START + MINUTE, START, 'UTC')}: at most 1 within 1 minute may start of 'mail'."
    )
    assert installation.engine.why.job(last).lead.sentence.endswith(" of 'mail', and 1 other waits before it.")
    assert installation.engine.why.job(other).lead.sentence.endswith(" of 'sms' for 'acme'.")


@situation(9, Code.PREVIOUS_RUNNING)
def test_a_buffered_job_of_a_schedule_names_the_one_of_the_earlier_tick(installation: WhyInstallation) -> None:
    installation.schedule(cron="* * * * *", overlap=Overlap.BUFFER_ALL)
    installation.pass_time(MINUTE)
    holder = installation.claim_one().spec.id
    installation.pass_time(MINUTE)
    installation.show_node()
    (job,) = (
        tick.job for tick in installation.rows(installation.schedules.find(_only(installation)).schedule.uuid)[-1:]
    )
    assert job is not None

    found = installation.engine.why.job(job)

    assert codes(found) == [Code.PREVIOUS_RUNNING]
    assert found.lead.job == holder


@situation(10, Code.DEFINITION_MISSING)
def test_a_job_whose_type_is_gone_says_so(installation: WhyInstallation) -> None:
    job = installation.enqueue()
    gone = installation.definitions.job_type("report").uuid
    installation.definitions.delete_job_type("report")

    found = installation.engine.why.job(job)

    assert codes(found) == [Code.DEFINITION_MISSING]
    assert found.lead.job_type == gone


@situation(11, Code.STARTING)
def test_a_ready_job_with_nothing_in_its_way_is_starting(installation: WhyInstallation) -> None:
    job = installation.enqueue()

    assert codes(installation.engine.why.job(job)) == [Code.STARTING]


@situation(12, Code.RUNNING)
def test_a_running_job_says_since_when_and_where(installation: WhyInstallation) -> None:
    job = installation.enqueue(timeout_ms=MINUTE)
    claim = installation.claim_one()
    installation.clock.advance(5_000)

    found = installation.engine.why.job(job)

    assert found.lead.code is Code.RUNNING
    assert (found.lead.since, found.lead.until) == (START, START + MINUTE)
    assert found.lead.node == claim.token.partition("/")[0]
    assert "5 seconds now" in found.lead.sentence


def test_a_running_job_whose_node_is_silent_or_that_is_being_cancelled_says_so_too(
    installation: WhyInstallation,
) -> None:
    job = installation.enqueue()
    installation.claim_one()
    installation.engine.jobs.cancel(job)

    assert codes(installation.engine.why.job(job)) == [Code.RUNNING, Code.CANCELLING, Code.NODE_SILENT]


@situation(13, Code.ENDED)
def test_an_ended_job_says_how(installation: WhyInstallation) -> None:
    job = installation.enqueue()
    installation.end(installation.claim_one(), well=False)

    found = installation.engine.why.job(job)

    assert codes(found) == [Code.ENDED]
    assert (found.lead.state, found.lead.error) == ("failed", "no")
    assert found.lead.sentence == "It failed at 2023-11-14 22:14:01 UTC: no."


def test_what_must_end_first_leads_and_the_others_follow(installation: WhyInstallation) -> None:
    installation.engine.queues.pause("default")
    installation.show_node(draining=True)
    later, ready = installation.enqueue(delay_ms=MINUTE), installation.enqueue()

    assert codes(installation.engine.why.job(later)) == [Code.NOT_DUE, Code.PAUSED, Code.NO_LIVE_NODE]
    assert codes(installation.engine.why.job(ready)) == [Code.PAUSED, Code.NO_LIVE_NODE]


def test_a_job_behind_others_while_all_slots_are_taken_says_both(installation: WhyInstallation) -> None:
    installation.enqueue()
    installation.enqueue()
    installation.claim()
    installation.enqueue()
    job = installation.enqueue()

    assert codes(installation.engine.why.job(job)) == [Code.AT_CAPACITY, Code.BEHIND]


# -- queues --------------------------------------------------------------------------------------------------------


@situation(29, Code.PAUSED)
def test_a_queue_that_is_paused_says_so_and_what_else_holds(installation: WhyInstallation) -> None:
    installation.engine.queues.pause("default")
    installation.clock.advance(MINUTE)

    found = installation.engine.why.queue("default")

    assert codes(found) == [Code.PAUSED, Code.NO_LIVE_NODE]
    assert "rota queues resume default" in found.lead.sentence


@situation(30, Code.NO_LIVE_NODE)
def test_a_queue_whose_node_is_draining_has_no_live_node(installation: WhyInstallation) -> None:
    installation.show_node(draining=True)

    found = installation.engine.why.queue(installation.queue)

    assert codes(found) == [Code.NO_LIVE_NODE]
    assert found.lead.nodes == (installation.node.uuid,)


@situation(31, Code.AT_CAPACITY)
def test_a_queue_whose_slots_are_taken_is_at_capacity(installation: WhyInstallation) -> None:
    for _ in range(2):
        installation.enqueue()
        installation.claim_one()

    found = installation.engine.why.queue("default")

    assert codes(found) == [Code.AT_CAPACITY]
    assert (found.lead.running, found.lead.slots) == (2, 2)


@situation(32, Code.STARTING)
def test_a_queue_with_free_slots_gives_out_jobs(installation: WhyInstallation) -> None:
    installation.enqueue()
    installation.claim_one()

    found = installation.engine.why.queue("default")

    assert codes(found) == [Code.STARTING]
    assert "with 1 of 2 slots taken" in found.lead.sentence


# -- schedules -----------------------------------------------------------------------------------------------------


def _only(installation: WhyInstallation) -> str:
    (entry,) = installation.store.list_schedules(limit=10).entries
    return entry.schedule.name


@situation(14, Code.NOT_DUE)
def test_a_schedule_between_two_ticks_is_not_due(installation: WhyInstallation) -> None:
    uuid = installation.schedule(cron="*/5 * * * *", tz="Europe/Berlin")

    found = installation.engine.why.schedule(uuid)

    assert codes(found) == [Code.NOT_DUE]
    assert found.lead.sentence == ("Its next tick waits until 2023-11-14 23:15:00 +01:00, 59 seconds from now.")


@situation(15, Code.PAUSED)
def test_a_paused_schedule_says_so_with_its_note(installation: WhyInstallation) -> None:
    uuid = installation.schedule(cron="* * * * *")
    installation.schedules.pause(uuid, "until the audit is over")

    found = installation.engine.why.schedule(uuid)

    assert codes(found) == [Code.PAUSED]
    assert found.lead.note == "until the audit is over"


@situation(16, Code.BEFORE_START)
def test_a_schedule_whose_time_has_not_begun_says_when_it_does(installation: WhyInstallation) -> None:
    uuid = installation.schedule(cron="* * * * *", start=START + 90 * MINUTE)

    found = installation.engine.why.schedule(uuid)

    assert codes(found) == [Code.BEFORE_START]
    assert found.lead.since == START + 90 * MINUTE
    assert found.lead.until is not None
    assert found.lead.until >= START + 90 * MINUTE


@situation(17, Code.PREVIOUS_RUNNING)
def test_a_schedule_whose_job_goes_on_names_it(installation: WhyInstallation) -> None:
    uuid = installation.schedule(cron="* * * * *", overlap=Overlap.SKIP)
    installation.pass_time(MINUTE)
    running = installation.claim_one().spec.id
    installation.pass_time(MINUTE)
    installation.show_node()

    found = installation.engine.why.schedule(uuid)

    assert codes(found) == [Code.PREVIOUS_RUNNING, Code.NOT_DUE, Code.TICK_SKIPPED]
    assert found.lead.job == running


def test_a_schedule_that_counts_from_the_end_of_a_job_that_runs_is_not_over(installation: WhyInstallation) -> None:
    uuid = installation.schedule(interval="1m", anchor="ended")
    installation.pass_time(MINUTE)
    running = installation.claim_one()
    installation.pass_time(MINUTE)
    installation.show_node()

    found = installation.engine.why.schedule(uuid)
    assert (codes(found), found.lead.job) == ([Code.PREVIOUS_RUNNING], running.spec.id)
    assert "counted from the end of job" in found.lead.sentence

    installation.end(running)
    found = installation.engine.why.schedule(uuid)
    assert (codes(found), found.lead.until) == ([Code.NOT_DUE], None)
    assert "looked at within moments" in found.lead.sentence

    ended = installation.clock.now()
    installation.pass_time(2_000)
    found = installation.engine.why.schedule(uuid)
    assert (codes(found), found.lead.until) == ([Code.NOT_DUE], ended + MINUTE)


@situation(18, Code.NO_LIVE_NODE)
def test_a_schedule_that_nobody_fires_says_so(installation: WhyInstallation) -> None:
    uuid = installation.schedule(cron="0 0 * * *")
    installation.show_node(roles=(WORKER,))

    found = installation.engine.why.schedule(uuid)

    assert codes(found) == [Code.NO_LIVE_NODE, Code.NOT_DUE]
    assert "rota scheduler" in found.lead.sentence


@situation(19, Code.ENDED)
def test_a_schedule_that_made_all_its_jobs_is_over(installation: WhyInstallation) -> None:
    uuid = installation.schedule(cron="* * * * *", max_runs=1)
    installation.pass_time(MINUTE)
    installation.show_node()

    found = installation.engine.why.schedule(uuid)

    assert codes(found) == [Code.ENDED]
    assert "1 job" in found.lead.sentence


@situation(20, Code.EXCLUDED_DAY)
def test_a_schedule_whose_next_tick_is_on_an_excluded_day_says_so(installation: WhyInstallation) -> None:
    uuid = installation.schedule(cron="0 0 15 11 *", exclude=["2023-11-15"])

    assert codes(installation.engine.why.schedule(uuid)) == [Code.NOT_DUE, Code.EXCLUDED_DAY]


@situation(21, Code.TICK_MISSED)
def test_a_schedule_that_nobody_served_tells_of_the_missed_tick(installation: WhyInstallation) -> None:
    uuid = installation.schedule(cron="0 * * * *", catch_up="none")
    installation.clock.advance(90 * MINUTE)
    installation.tick()
    installation.show_node()

    found = installation.engine.why.schedule(uuid)

    assert codes(found) == [Code.NOT_DUE, Code.TICK_MISSED]
    assert "does not catch up" in found.also[0].sentence


def test_a_schedule_whose_job_type_is_gone_says_so(installation: WhyInstallation) -> None:
    uuid = installation.schedule(cron="0 0 * * *")
    (entry,) = installation.store.find_schedules([uuid])
    assert entry is not None
    installation.store.delete_job_types([entry.schedule.job_type])

    assert installation.engine.why.schedule(uuid).lead.code is Code.DEFINITION_MISSING


# -- configurations ------------------------------------------------------------------------------------------------


@situation(22, Code.DEPENDENCY_MISSING)
def test_a_configuration_names_each_event_that_has_not_come(installation: WhyInstallation) -> None:
    installation.configure(needs("FILE", "/a", 60), needs("FILE", "/b", 60))
    installation.post("FILE", "/a")

    found = installation.engine.why.configuration("c")

    assert codes(found) == [Code.DEPENDENCY_MISSING]
    assert found.lead.sentence == "FILE /b has not come yet."


@situation(23, Code.DEPENDENCY_EXPIRED)
def test_a_configuration_names_what_has_expired(installation: WhyInstallation) -> None:
    installation.configure(needs("FILE", "/a", 10), needs("FILE", "/b", 600))
    installation.post("FILE", "/a")
    installation.clock.advance(15_000)
    installation.post("FILE", "/b")

    found = installation.engine.why.configuration("c")

    assert codes(found) == [Code.DEPENDENCY_EXPIRED]
    assert found.lead.dependency is not None
    assert found.lead.dependency.resource == "/a"
    assert found.lead.since == START + 10_000


@situation(24, Code.STALE_EVENT)
def test_a_configuration_says_that_its_last_event_was_too_old(installation: WhyInstallation) -> None:
    installation.configure(needs("FILE", "/a", 600))
    installation.post("FILE", "/a")
    installation.post("FILE", "/a", START - 5_000)

    assert codes(installation.engine.why.configuration("c")) == [Code.STALE_EVENT]


@situation(25, Code.DUPLICATE_EVENT)
def test_a_configuration_says_that_its_last_event_had_counted_before(installation: WhyInstallation) -> None:
    installation.configure(needs("FILE", "/a", 600), needs("FILE", "/b", 600))
    installation.post("FILE", "/a", eventId="one")
    installation.post("FILE", "/a", eventId="one")

    assert codes(installation.engine.why.configuration("c")) == [Code.DUPLICATE_EVENT, Code.DEPENDENCY_MISSING]


@situation(26, Code.UNIQUE_KEY_TAKEN)
def test_a_configuration_whose_job_is_there_already_says_so(installation: WhyInstallation) -> None:
    installation.define("single", unique=Unique.WHILE_PENDING)
    installation.configure(needs("FILE", "/a", 600), job={"job_type": "single"})
    installation.post("FILE", "/a")
    installation.clock.advance(1_000)
    installation.post("FILE", "/a")

    assert codes(installation.engine.why.configuration("c")) == [Code.UNIQUE_KEY_TAKEN]


@situation(27, Code.FIRED)
def test_a_configuration_that_fired_names_its_job(installation: WhyInstallation) -> None:
    installation.configure(needs("FILE", "/a", 600))
    installation.post("FILE", "/a")

    found = installation.engine.why.configuration("c")

    assert codes(found) == [Code.FIRED]
    assert found.lead.job is not None
    assert installation.engine.jobs.find(found.lead.job)


def test_of_any_of_none_is_missing_once_one_has_come(installation: WhyInstallation) -> None:
    either: dict[str, object] = {"any_of": [needs("FILE", "/a", 600), needs("FILE", "/b", 600)]}
    installation.configure(either, needs("FILE", "/c", 600))
    installation.post("FILE", "/b")

    found = installation.engine.why.configuration("c")

    assert [one.dependency.resource for one in (found.lead, *found.also) if one.dependency] == ["/c"]


def test_a_configuration_whose_jobs_no_node_would_run_says_so_last(installation: WhyInstallation) -> None:
    installation.configure(needs("FILE", "/a", 600))
    installation.engine.queues.pause("default")

    assert codes(installation.engine.why.configuration("c")) == [Code.DEPENDENCY_MISSING, Code.PAUSED]


def test_a_configuration_that_was_changed_waits_for_the_next_event(installation: WhyInstallation) -> None:
    installation.configure(needs("FILE", "/a", 600), needs("FILE", "/b", 600))
    installation.post("FILE", "/a")
    wish = {"name": "c", "job": {"job_type": "report"}, "dependencies": [needs("FILE", "/a", 600)]}
    installation.engine.configurations.replace("c", read_configuration(wish, ()))

    assert codes(installation.engine.why.configuration("c")) == [Code.EVENT_MISSING]


# -- the page ------------------------------------------------------------------------------------------------------

_ROW = re.compile(r"^\| (\d+) \| [^`]* \| `(\w+)` \|", re.MULTILINE)


# -- which facts are gathered ------------------------------------------------------------------------------------------


def test_a_node_of_another_queue_is_none_of_a_jobs(installation: WhyInstallation) -> None:
    job = installation.enqueue()
    installation.show_node(node_type=new_node())

    assert codes(installation.engine.why.job(job)) == [Code.NO_LIVE_NODE]


def test_a_schedule_that_lets_one_job_wait_names_it_when_the_next_tick_is_skipped(
    installation: WhyInstallation,
) -> None:
    uuid = installation.schedule(cron="* * * * *", overlap="buffer_one")
    installation.pass_time(MINUTE)
    installation.claim_one()
    installation.pass_time(2 * MINUTE)
    installation.show_node()

    found = installation.engine.why.schedule(uuid)

    assert installation.fates(uuid) == ["fired", "fired", "skipped:overlap"]
    assert codes(found) == [Code.PREVIOUS_RUNNING, Code.NOT_DUE, Code.TICK_SKIPPED]


def test_the_page_lists_exactly_these_situations() -> None:
    rows = {int(number): Code(code) for number, code in _ROW.findall(PAGE.read_text())}

    assert rows == SITUATIONS


def test_the_page_explains_every_code() -> None:
    text = PAGE.read_text()

    assert [code for code in Code if f"`{code.value}`" not in text] == []
