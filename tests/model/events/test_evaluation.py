"""Single rules of the evaluation, and what an explanation says. Whole sequences are held against an oracle apart."""

from typing import Any

from msgspec import structs

from rota.model.events.configuration import Configuration, ConfigurationState, carried_over, first_state
from rota.model.events.configuration_request import read_configuration
from rota.model.events.evaluation import Judgement, Verdict, evaluate, merged
from rota.model.events.event import Event, EventRef, make_event
from rota.model.events.explanation import explain, with_events_that_counted

S = 1_000_000
LATER = 10_000


def made(*dependencies: object, **more: object) -> Configuration:
    request = read_configuration({"name": "c", "dependencies": list(dependencies), **more})
    return Configuration(
        uuid="u",
        name="c",
        queue="q",
        job_type="t",
        dependencies=request.dependencies,
        rule=request.rule,
        clock=request.clock,
        late=request.late,
    )


def needs(resource: str, life: int, **more: object) -> dict[str, object]:
    return {"type": "TABLE", "resourceId": resource, "lifeDuration": life, **more}


def ref(resource: str, at: int) -> EventRef:
    return EventRef(f"{resource}@{at}", resource, at * S, LATER * 1_000)


class Story:
    """A configuration and the events that come to it, in seconds."""

    def __init__(self, configuration: Configuration) -> None:
        self.configuration = configuration
        self.state: ConfigurationState = first_state(configuration)
        self.last: Judgement | None = None

    def hears(self, resource: str, at: float, *, received: int = LATER, **more: Any) -> Verdict:
        event = Event(
            id=f"{resource}@{at}", type="TABLE", resource=resource, time=int(at * S), received_at=received * 1_000
        )
        self.last = evaluate(self.configuration, self.state, event, **more)
        self.state = self.last.state
        return self.last.evaluation.verdict

    def sentence(self, now: float) -> str:
        last = self.last.evaluation if self.last else None
        return explain(self.configuration, self.state, last, int(now * S)).sentence


def test_late_events_must_have_been_valid_together() -> None:
    story = Story(made(needs("a", 100), needs("b", 100)))
    story.hears("a", 1000)

    assert story.hears("b", 500) == "waiting"
    assert story.hears("b", 950) == "triggered"
    assert story.state.last_execution == 1000 * S


def test_any_stored_event_serves_and_not_only_the_newest() -> None:
    story = Story(made(needs("file", 100), needs("cron", 0)))
    story.hears("file", 1000)
    story.hears("file", 5000)

    assert story.hears("cron", 1050) == "triggered"
    assert story.state.last_execution == 1050 * S


def test_a_late_event_never_shortens_what_is_valid() -> None:
    story = Story(made(needs("file", 100), needs("cron", 0)))
    story.hears("file", 1000)
    story.hears("file", 950)

    assert story.hears("cron", 1100) == "triggered"
    assert story.state.evidence[0].newest is not None
    assert story.state.evidence[0].newest.time == 1000 * S


def test_a_clock_that_overtakes_its_file_triggers_only_if_late_events_may_join() -> None:
    for late, verdict in (("ignore", "waiting"), ("join", "triggered")):
        story = Story(made(needs("file", 100), needs("cron", 0), late=late))
        story.hears("cron", 1000)

        assert story.hears("file", 950) == verdict


def test_any_of_is_met_by_either() -> None:
    story = Story(made({"any_of": [needs("a", 100), needs("b", 100)]}, needs("cron", 0)))

    assert story.hears("cron", 10) == "waiting"
    story.hears("b", 20)
    assert story.hears("cron", 120) == "triggered"
    assert story.hears("cron", 121) == "waiting"


def test_any_of_groups_are_met_by_one_and_all_of_groups_by_every_one() -> None:
    story = Story(made({"any_of": [needs("a", 0), {"all_of": [needs("b", 100), needs("c", 100)]}]}))

    assert story.hears("a", 10) == "triggered"
    assert story.hears("b", 20) == "waiting"
    assert story.hears("c", 120) == "triggered"
    assert story.hears("b", 221) == "waiting", "the other one ended a second ago"


def test_a_stretch_is_valid_from_its_event_to_the_end_of_its_life_both_included() -> None:
    for at, verdict in ((99.999999, "waiting"), (100, "triggered"), (110, "triggered"), (110.000001, "waiting")):
        story = Story(made(needs("file", 10), needs("cron", 0)))
        story.hears("file", 100)

        assert story.hears("cron", at) == verdict, at


def test_an_event_that_comes_late_looks_ahead_to_the_last_instant_of_its_life() -> None:
    for at, verdict in ((90, "triggered"), (89.999999, "waiting")):
        story = Story(made(needs("a", 10), needs("b", 10)))
        story.hears("a", 100)

        assert story.hears("b", at) == verdict, at


def test_the_first_instant_at_which_all_hold_is_the_last_execution() -> None:
    story = Story(made(needs("a", 10), needs("b", 10), needs("late", 100)))
    for name, at in (("a", 30), ("b", 35), ("a", 60), ("b", 61)):
        story.hears(name, at)

    assert story.hears("late", 1) == "triggered"
    assert story.state.last_execution == 35 * S
    assert story.state.last_execution_wall == LATER * 1_000


def test_the_last_execution_never_goes_back() -> None:
    story = Story(made(needs("a", 1000), needs("b", 0), clock="reception"))
    story.hears("a", 10, received=100)
    assert story.hears("b", 20, received=500) == "triggered"

    assert story.hears("b", 600, received=400) == "triggered", "it happened after the last execution, by its own time"
    assert story.state.last_execution == 500 * S


def test_every_judgement_raises_the_version_and_is_counted() -> None:
    story = Story(made(needs("a", 100)))
    told = []
    for at, more in ((10, {}), (5, {}), (20, {"is_known": True}), (30, {})):
        story.hears("a", at, **more)
        told.append((story.state.version, story.state.evaluated, story.state.triggered))

    assert told == [(2, 1, 1), (3, 2, 1), (4, 3, 1), (5, 4, 2)]


def test_an_event_that_is_not_admitted_leaves_no_evidence() -> None:
    story = Story(made(needs("a", 100), needs("b", 100)))
    story.hears("a", 10)
    story.hears("b", 20)
    before = story.state.evidence

    assert story.hears("a", 20) == "older"
    assert story.last is not None
    assert (story.last.hits, story.state.evidence) == ((), before)


def test_of_very_many_separate_stretches_the_latest_hundred_are_kept() -> None:
    story = Story(made(needs("file", 1), needs("cron", 0)))
    for n in range(103):
        story.hears("file", 10 * n)

    starts = [start // S for start, _ in story.state.evidence[0].spans]

    assert starts == list(range(30, 1030, 10))


def test_an_event_with_a_known_id_counts_for_nothing() -> None:
    story = Story(made(needs("a", 100)))

    assert story.hears("a", 10, is_known=True) == "duplicate"
    assert story.state.evidence[0].newest is None


def test_by_reception_a_file_that_is_delivered_late_still_counts() -> None:
    for clock, verdict in (("event", "waiting"), ("reception", "triggered")):
        story = Story(made(needs("file", 100), needs("cron", 0), clock=clock))
        story.hears("file", 1000, received=9_000)

        assert story.hears("cron", 9_050, received=9_050) == verdict


def test_stretches_that_touch_are_one_and_those_before_the_last_execution_are_forgotten() -> None:
    assert merged([(5, 6), (0, 2), (2, 3), (1, 1)]) == ((0, 3), (5, 6))
    story = Story(made(needs("file", 10), needs("cron", 0)))
    for at in (100, 105, 200, 300):
        story.hears("file", at)

    assert [start // S for start, _ in story.state.evidence[0].spans] == [100, 200, 300]
    assert story.hears("cron", 205) == "triggered"
    assert [start // S for start, _ in story.state.evidence[0].spans] == [200, 300]


def test_dependencies_that_stay_keep_their_evidence_when_a_configuration_changes() -> None:
    old = made(needs("a", 100), needs("b", 100))
    story = Story(old)
    story.hears("a", 10)
    new = made(needs("c", 5), needs("a", 100))

    state = carried_over(old, story.state, new)

    assert state.evidence == (first_state(new).evidence[0], story.state.evidence[0])
    assert state.version == story.state.version + 1


def test_a_configuration_that_measures_by_another_clock_begins_anew_but_keeps_its_counts() -> None:
    old = made(needs("a", 100))
    story = Story(old)
    story.hears("a", 10)
    new = made(needs("a", 100), clock="reception")

    state = carried_over(old, story.state, new)

    assert (state.evidence, state.last_execution) == (first_state(new).evidence, None)
    assert (state.evaluated, state.triggered, state.last_execution_wall) == (1, 1, LATER * 1_000)
    same = carried_over(old, story.state, old)
    assert (same.evidence, same.last_execution) == (story.state.evidence, 10 * S)


def test_the_matrix_tells_for_each_dependency_what_met_it_and_how_old_that_was() -> None:
    story = Story(made(needs("a", 100), needs("b", 100), needs("c", 0)))
    story.hears("a", 10)
    story.hears("c", 40)
    assert story.last is not None

    rows = [
        (row.is_met, row.is_hit, row.event.id if row.event else None, row.age_us, row.is_newer)
        for row in story.last.evaluation.matrix
    ]

    assert rows == [
        (True, False, "a@10", 30 * S, None),
        (False, False, None, None, None),
        (True, True, "c@40", 0, None),
    ]
    story.hears("b", 50)
    story.hears("c", 60)
    story.hears("b", 70)
    assert [row.is_newer for row in story.last.evaluation.matrix] == [False, True, False]


def test_an_explanation_says_why_it_fired_and_why_not() -> None:
    story = Story(made(needs("file", 3600), needs("cron", 0)))
    assert "no event has matched yet; it waits for TABLE file, TABLE cron" in story.sentence(0)
    story.hears("file", 0)
    assert "did not fire" in story.sentence(1)
    assert "TABLE cron has not come yet" in story.sentence(1)
    story.hears("cron", 900)
    assert "fired on TABLE cron" in story.sentence(1000)
    counted = "TABLE file is valid by its event of 1970-01-01T00:00:00.000000Z (900 s of 3600 s)"
    assert counted in story.sentence(1000)
    story.hears("cron", 4510)
    assert "TABLE file has expired (its last event is 4510 s old, its life is 3600 s)" in story.sentence(5000)
    story.hears("file", 3)
    assert "not newer than the last execution" in story.sentence(5000)


def test_an_explanation_cites_the_event_that_counted_and_not_a_later_one() -> None:
    story = Story(made(needs("a", 60), needs("b", 60)))
    story.hears("b", 0)
    story.hears("b", 100)
    story.hears("a", 30)
    assert story.last is not None
    evaluation = story.last.evaluation
    counted = [(1, ref("b", 100)), (1, ref("b", 0)), (0, ref("a", 30))]

    told = with_events_that_counted(story.configuration, evaluation, counted)
    forgotten = with_events_that_counted(story.configuration, evaluation, [])

    assert [(row.event and row.event.id, row.age_us) for row in told.matrix] == [("a@30", 0), ("b@0", 30 * S)]
    sentence = explain(story.configuration, story.state, told, 200 * S).sentence
    assert "TABLE b is valid by its event of 1970-01-01T00:00:00.000000Z (30 s of 60 s)" in sentence
    assert "TABLE b was valid then" in explain(story.configuration, story.state, forgotten, 200 * S).sentence


def test_an_explanation_says_what_is_missing_and_what_expires_next() -> None:
    story = Story(made(needs("a", 100), needs("b", 50), needs("c", 10)))
    story.hears("a", 1000)
    story.hears("b", 1010)

    found = explain(story.configuration, story.state, None, 1020 * S)

    assert [one.resource for one in found.missing] == ["c"]
    assert found.expires_next is not None
    assert (found.expires_next.dependency.resource, found.expires_next.at) == ("b", 1060 * S)
    assert [row.is_met for row in found.standing] == [True, True, False]


def test_an_explanation_says_that_one_of_any_of_suffices() -> None:
    either = {"any_of": [needs("a", 100), needs("b", 100)]}
    story = Story(made(either, needs("c", 100)))
    assert "it waits for (any one of TABLE a, TABLE b), TABLE c" in story.sentence(1000)
    story.hears("c", 1000)

    assert story.sentence(1000).endswith(
        ": one of these would suffice: TABLE a has not come yet or TABLE b has not come yet."
    )


def test_of_any_of_nothing_is_missing_once_one_has_come() -> None:
    story = Story(made({"any_of": [needs("a", 100), needs("b", 100)]}, needs("c", 100)))
    story.hears("b", 1000)

    assert story.sentence(1000).endswith("1970-01-01T00:16:40.000000Z: TABLE c has not come yet.")
    found = explain(story.configuration, story.state, None, 1000 * S)
    assert [one.resource for one in found.missing] == ["c"]


def test_an_explanation_tells_the_timestamp_of_a_sender_whose_clock_is_ahead() -> None:
    story = Story(made(needs("a", 100), needs("b", 100)))
    event = make_event(id="e", type="TABLE", resource="a", stated_time=9_000 * S, received_at=1_000_000)
    story.last = evaluate(story.configuration, story.state, event)

    assert event.time < event.received_at * 1_000 + 1_000
    assert (
        "TABLE a of 1970-01-01T00:16:40.000999Z (its sender said 1970-01-01T02:30:00.000000Z, which had not come yet)"
        in story.sentence(1000)
    )


def test_of_two_events_of_one_instant_the_later_one_to_come_is_the_newest() -> None:
    story = Story(made(needs("a", 100), needs("b", 100)))
    story.hears("a", 1000)
    again = Event(id="again", type="TABLE", resource="a", time=1000 * S, received_at=LATER * 1_000)

    judged = evaluate(story.configuration, story.state, again)

    assert judged.state.evidence[0].newest is not None
    assert judged.state.evidence[0].newest.id == "again"


def cited(age_us: int | None, is_met: bool, *counted: EventRef) -> tuple[EventRef | None, int | None]:
    """What is cited for `a` at 1000 s, in whose row stands an event that was this old then."""
    story = Story(made(needs("a", 100), needs("b", 100)))
    story.hears("b", 1000)
    assert story.last is not None
    evaluation = story.last.evaluation
    stands = None if age_us is None else ref("a", 1000 - age_us // S)
    row = structs.replace(evaluation.matrix[0], event=stands, age_us=age_us, is_met=is_met)
    evaluation = structs.replace(evaluation, matrix=(row, evaluation.matrix[1]))

    found = with_events_that_counted(story.configuration, evaluation, [(0, event) for event in counted])
    assert found.matrix[1] == evaluation.matrix[1]
    return found.matrix[0].event, found.matrix[0].age_us


def test_of_the_events_that_had_come_by_then_the_latest_is_cited() -> None:
    counted = [ref("a", at) for at in (1100, 990, 950, 980)]

    assert cited(-100 * S, True, *counted) == (ref("a", 990), 10 * S)
    assert cited(-100 * S, True, *counted, ref("a", 1000)) == (ref("a", 1000), 0)


def test_an_event_that_had_come_by_then_is_cited_as_it_stands() -> None:
    assert cited(20 * S, True, ref("a", 990)) == (ref("a", 980), 20 * S)
    assert cited(0, True, ref("a", 990)) == (ref("a", 1000), 0)
    assert cited(None, False, ref("a", 990)) == (None, None)


def test_where_no_event_is_known_that_had_come_by_then_a_later_one_is_cited_only_as_what_was_missing() -> None:
    assert cited(-100 * S, True, ref("a", 1100)) == (None, None)
    assert cited(-100 * S, False, ref("a", 1100)) == (ref("a", 1100), -100 * S)
