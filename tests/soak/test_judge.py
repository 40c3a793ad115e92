"""The judge of the soak: what it accuses, and what it excuses. The soak itself is no test; see `make soak`."""

from msgspec import structs

from rota.model.job import JobState
from tests.soak.judge import (
    SILENT_MS,
    Court,
    Excuse,
    JobFact,
    Life,
    Stretch,
    TickRow,
    judge_ends,
    judge_overlaps,
    judge_repeats,
    judge_ticks,
    succeeded_without_end,
)
from tests.soak.ledger import Line, Run, runs_of

SECOND = 1_000
FIRST = Life("a.1", 0)
SECOND_NODE = Life("b.1", 0)


def line(
    event: str, run: str, *, job: str = "job", attempt: int = 1, node: str = "a.1", s: int, lock: str = "-"
) -> Line:
    return Line(event, run, job, attempt, node, s * SECOND, lock)


def two_starts(*, first_s: int = 0, second_s: int, first_ends: bool = False, attempt: int = 1) -> list[Run]:
    """A job that runs on one node, then on another."""
    lines = [line("start", "one", s=first_s)]
    if first_ends:
        lines.append(line("end", "one", s=first_s + 1))
    return runs_of([*lines, line("start", "two", node="b.1", s=second_s, attempt=attempt)])


def excuse(
    runs: list[Run], life: Life, *, blind: list[Stretch] | None = None, other: Life = SECOND_NODE
) -> Excuse | None:
    first, second = runs
    return Court([life, other], blind or []).excuse(first, second)


def test_a_second_start_without_a_fault_has_no_excuse() -> None:
    assert excuse(two_starts(second_s=60), FIRST) is None
    assert len(judge_repeats(Court([FIRST, SECOND_NODE], []), two_starts(second_s=60)).beyond) == 1


def test_a_kill_while_it_ran_is_an_excuse_and_one_before_or_after_is_none() -> None:
    runs = two_starts(first_s=10, second_s=30)

    assert excuse(runs, Life("a.1", 0, killed_at=20 * SECOND)) is Excuse.KILLED
    assert excuse(runs, Life("a.1", 0, killed_at=5 * SECOND)) is None
    assert excuse(runs, Life("a.1", 0, killed_at=31 * SECOND)) is None


def test_what_began_again_after_a_kill_is_told() -> None:
    killed = Life("a.1", 0, killed_at=20 * SECOND)
    first, second = two_starts(first_s=10, second_s=23)

    assert judge_repeats(Court([killed, SECOND_NODE], []), [first, second]).after_kills == [(first, second)]
    assert judge_repeats(Court([FIRST, SECOND_NODE], []), [first, second]).after_kills == []


def test_a_failed_attempt_is_followed_by_another() -> None:
    lines = [line("start", "one", s=0), line("fail", "one", s=1), line("start", "two", node="b.1", s=2, attempt=2)]

    assert excuse(runs_of(lines), FIRST) is Excuse.RETRY
    assert excuse(runs_of([lines[0], lines[2]]), FIRST) is None, "it did not fail"


def test_a_stop_excuses_what_it_interrupted_and_not_what_had_ended() -> None:
    stopped = Life("a.1", 0, asked_at=5 * SECOND, ended_at=8 * SECOND)
    outage = [Stretch(6 * SECOND, 7 * SECOND)]

    assert excuse(two_starts(second_s=9), stopped) is Excuse.STOPPED
    assert excuse(two_starts(second_s=9, first_ends=True), stopped) is None
    assert excuse(two_starts(second_s=9, first_ends=True), stopped, blind=outage) is Excuse.STOPPED


def test_a_long_silence_under_watch_is_an_excuse() -> None:
    long = Life("a.1", 0, suspended=[Stretch(0, 30 * SECOND)])
    short = Life("a.1", 0, suspended=[Stretch(0, SILENT_MS - 1)])

    assert excuse(two_starts(second_s=25), long) is Excuse.SUSPENDED
    assert excuse(two_starts(second_s=25), short) is None


def test_a_silence_that_nobody_could_watch_is_no_excuse() -> None:
    long = Life("a.1", 0, suspended=[Stretch(0, 30 * SECOND)])

    assert excuse(two_starts(second_s=40), long, blind=[Stretch(0, 30 * SECOND)]) is None
    assert excuse(two_starts(second_s=40), long, blind=[Stretch(10 * SECOND, 20 * SECOND)]) is None
    assert excuse(two_starts(second_s=40), long, blind=[Stretch(0, 5 * SECOND)]) is Excuse.SUSPENDED


def test_who_can_read_and_not_write_judges_for_half_the_dead_time_more() -> None:
    long = Life("a.1", 0, suspended=[Stretch(0, 30 * SECOND)])
    short = Life("a.1", 0, suspended=[Stretch(0, SILENT_MS - 1)])
    locked = [Stretch(12 * SECOND, 28 * SECOND, can_look=True)]
    soon = [Stretch(4 * SECOND, 28 * SECOND, can_look=True)]

    assert excuse(two_starts(second_s=40), long, blind=locked) is Excuse.SUSPENDED
    assert excuse(two_starts(second_s=40), long, blind=soon) is None
    assert excuse(two_starts(second_s=40), short, blind=locked) is None


def test_a_part_of_the_store_that_is_away_keeps_nobody_from_watching_in_another() -> None:
    suspended = Life("a.1", 0, suspended=[Stretch(0, 30 * SECOND)])
    awake = Life("a.1", 0)
    away = [Stretch(0, 30 * SECOND, is_partial=True)]

    assert excuse(two_starts(second_s=25), suspended, blind=away) is Excuse.SUSPENDED
    assert excuse(two_starts(second_s=25), awake, blind=away) is None


def test_a_woken_node_may_begin_late_what_it_had_claimed() -> None:
    woken = Life("b.1", 0, suspended=[Stretch(0, 30 * SECOND)])

    assert excuse(two_starts(first_s=25, second_s=31), FIRST, other=woken) is Excuse.WOKEN
    assert excuse(two_starts(first_s=25, second_s=50), FIRST, other=woken) is None


def test_a_run_under_a_lock_is_given_up_by_a_node_that_cannot_renew_and_others_are_not() -> None:
    first, second = two_starts(second_s=30)
    outage = [Stretch(5 * SECOND, 25 * SECOND)]

    assert Court([FIRST, SECOND_NODE], outage, {"job"}).excuse(first, second) is Excuse.GIVEN_UP
    assert Court([FIRST, SECOND_NODE], outage).excuse(first, second) is None, "it holds no lock"
    assert Court([FIRST, SECOND_NODE], [Stretch(0, 5 * SECOND)], {"job"}).excuse(first, second) is None, "too short"


def under_lock(*events: tuple[str, str]) -> list[Run]:
    """Runs of a lock, on two nodes, from (event, run) in the order of the ledger."""
    nodes = {"one": "a.1", "two": "b.1"}
    return runs_of(
        [
            line(event, run, job=run, node=nodes[run], s=place, lock="lock:x")
            for place, (event, run) in enumerate(events)
        ]
    )


def test_a_line_after_the_next_run_of_the_lock_began_is_an_overlap() -> None:
    court = Court([FIRST, SECOND_NODE], [])
    apart = under_lock(("start", "one"), ("goes_on", "one"), ("start", "two"), ("end", "two"))
    beside = under_lock(("start", "one"), ("start", "two"), ("goes_on", "one"), ("end", "two"))

    assert not judge_overlaps(court, apart).wrong
    assert len(judge_overlaps(court, beside).wrong["lock"]) == 1


def test_a_kill_excuses_no_overlap_and_a_long_suspension_does() -> None:
    beside = under_lock(("start", "one"), ("start", "two"), ("goes_on", "one"))
    killed = Life("a.1", 0, killed_at=500)
    suspended = Life("a.1", 0, suspended=[Stretch(100, 30 * SECOND)])

    assert judge_overlaps(Court([killed, SECOND_NODE], []), beside).wrong["lock"]
    excused = judge_overlaps(Court([suspended, SECOND_NODE], []), beside)
    assert excused.excused == 1
    assert not excused.wrong


def test_jobs_must_end_as_they_were_made_to() -> None:
    good = JobFact(id="1", type="coroutine", state=JobState.SUCCEEDED)
    retried = structs.replace(good, failures=2, attempts=3)
    cancelled = structs.replace(good, state=JobState.CANCELLED, may_be_cancelled=True)
    slow = structs.replace(good, state=JobState.FAILED, must_fail=True)

    assert judge_ends([good, retried, cancelled, slow]) == []
    assert len(judge_ends([structs.replace(good, attempts=2)])) == 1, "an attempt was used up"
    assert len(judge_ends([structs.replace(good, state=JobState.FAILED)])) == 1
    assert len(judge_ends([structs.replace(cancelled, may_be_cancelled=False)])) == 1
    assert len(judge_ends([structs.replace(slow, state=JobState.SUCCEEDED)])) == 1


def test_a_success_without_an_end_in_the_ledger_is_found() -> None:
    job = JobFact(id="job", type="coroutine", state=JobState.SUCCEEDED)
    begun, ended = line("start", "one", s=0), line("end", "one", s=1)

    assert succeeded_without_end([job], runs_of([begun, ended])) == []
    assert succeeded_without_end([job], runs_of([begun])) == ["job"]


def test_instants_that_stand_twice_or_nowhere_are_counted() -> None:
    def row(nominal_s: int, until_s: int | None = None) -> TickRow:
        until_s = nominal_s if until_s is None else until_s
        return TickRow(nominal_s * SECOND, until_s * SECOND, until_s - nominal_s + 1)

    assert judge_ticks([row(1), row(2, 4), row(5)], SECOND) == (0, 0)
    assert judge_ticks([row(1), row(1), row(2)], SECOND) == (1, 0)
    assert judge_ticks([row(1), row(4)], SECOND) == (0, 2)
