"""What happens, as log lines: the texts, levels, loggers and fields on which operators rely."""

import logging
from logging import DEBUG, ERROR, INFO, WARNING

import pytest

from rota.engine.observation.happenings import (
    AttemptsFailed,
    ClaimLost,
    ClaimsTaken,
    ClockFollowed,
    ClockJumped,
    DrainRequested,
    DutyFailed,
    EventsJudged,
    ExecutorFailed,
    Fault,
    Happening,
    HistoryTrimmed,
    JobsClaimed,
    JobsSettled,
    LeaveFailed,
    LockedRunStopped,
    LogLinesDropped,
    LogLinesWritten,
    NodeJoined,
    NodeLeft,
    OrphansFound,
    QueueForgotten,
    RunLeftBehind,
    SchedulePaused,
    ScheduleUndecided,
    SettlementRefused,
    StoreAnswered,
    StoreFailed,
    StoreReplaced,
    TicksDecided,
    TroubleBegan,
    TroubleEnded,
)
from rota.engine.observation.observers import Observers
from rota.errors import NotFound, StoreFull, StoreUnavailable
from rota.host.log_format import fields_of
from rota.model.job import Claim
from rota.model.runs.outcome import INTERRUPTED, failed, succeeded
from rota.model.runs.retry import RetryPolicy
from rota.model.runs.settlement import Settlement, settle
from tests.contract.building import NOW, spec
from tests.engine.observation.hearing import KINDS

AWAY = StoreUnavailable("away")
LINES: list[tuple[Happening, str, int, str, dict[str, object]]] = [
    (
        SettlementRefused("j"),
        "rota.worker",
        WARNING,
        "settlement refused: another attempt has the job",
        {"job_id": "j"},
    ),
    (ClaimLost("j", "n"), "rota.worker", WARNING, "claim lost, run stopped", {"job_id": "j", "node": "n"}),
    (LockedRunStopped("j"), "rota.worker", WARNING, "store not reached, run under a lock stopped", {"job_id": "j"}),
    (RunLeftBehind("j"), "rota.worker", ERROR, "run does not end, left behind", {"job_id": "j"}),
    (
        ExecutorFailed("j", "ValueError"),
        "rota.worker",
        WARNING,
        "executor failed",
        {"job_id": "j", "error": "ValueError"},
    ),
    (
        LogLinesDropped(StoreFull("full")),
        "rota.worker",
        ERROR,
        "log lines are dropped: the store is full",
        {"error": "full"},
    ),
    (LogLinesWritten(3), "rota.worker", WARNING, "log lines are written again", {"dropped": 3}),
    (
        ClaimsTaken("q", "n", 2),
        "rota.watchdog",
        WARNING,
        "jobs of a dead node taken back",
        {"queue": "q", "node": "n", "jobs": 2},
    ),
    (OrphansFound("q"), "rota.watchdog", WARNING, "claims of unknown nodes found", {"queue": "q"}),
    (HistoryTrimmed("q", 5), "rota.retention", INFO, "history trimmed", {"queue": "q", "jobs": 5}),
    (QueueForgotten("q"), "rota.retention", INFO, "queue of a deleted node type forgotten", {"queue": "q"}),
    (
        SchedulePaused("nightly", "why"),
        "rota.ticker",
        WARNING,
        "schedule paused",
        {"schedule": "nightly", "note": "why"},
    ),
    (
        ScheduleUndecided("nightly", NotFound("job type", "x")),
        "rota.ticker",
        ERROR,
        "schedule cannot be decided",
        {"schedule": "nightly", "error": "no job type 'x'"},
    ),
    (
        LeaveFailed("n1", AWAY),
        "rota.node",
        WARNING,
        "could not take leave of the store",
        {"node": "n1", "error": "away"},
    ),
    (DrainRequested(), "rota.node", INFO, "asked to drain; stopping after the running jobs", {}),
    (StoreFailed(AWAY), "rota.node", ERROR, "store unavailable, trying again", {"error": "away"}),
    (StoreAnswered(), "rota.node", INFO, "store available again", {}),
    (StoreReplaced(), "rota.node", ERROR, "the store was emptied or replaced; jobs accepted before may be lost", {}),
    (TroubleBegan("store", "full"), "rota.node", ERROR, "trouble", {"finder": "store", "trouble": "full"}),
    (TroubleEnded("store"), "rota.node", INFO, "trouble is over", {"finder": "store"}),
    (ClockJumped(7), "rota.node", WARNING, "the store's clock jumped; waiting for a second look", {"ms": 7}),
    (ClockFollowed(7), "rota.node", WARNING, "following the store's clock", {"ms": 7}),
    (
        DutyFailed("Ticker", NotFound("job type", "x")),
        "rota.node",
        ERROR,
        "duty failed",
        {"duty": "Ticker", "error": "no job type 'x'"},
    ),
]
SILENT: set[type[Happening]] = {JobsClaimed, TicksDecided, NodeJoined, NodeLeft}
"""What nobody wants to read on a quiet day, nor on a busy one."""
OTHERWISE: set[type[Happening]] = {AttemptsFailed, JobsSettled, EventsJudged, Fault}
"""Kinds of which the tests below speak, or those of the room that tells them."""


def test_every_kind_has_a_line_or_is_silent_on_purpose() -> None:
    assert {type(one[0]) for one in LINES} | SILENT | OTHERWISE == set(KINDS)


@pytest.mark.parametrize(
    ("happening", "logger", "level", "message", "fields"), LINES, ids=[type(one[0]).__name__ for one in LINES]
)
def test_a_happening_is_one_line(
    happening: Happening,
    logger: str,
    level: int,
    message: str,
    fields: dict[str, object],
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(DEBUG)

    Observers().tell(happening)

    (record,) = caplog.records
    assert (record.name, record.levelno, record.message, fields_of(record)) == (logger, level, message, fields)
    assert not record.exc_info


@pytest.mark.parametrize(
    ("happening", "logger", "message", "fields"),
    [
        (DutyFailed("Ticker", KeyError("x")), "rota.node", "duty failed", {"duty": "Ticker"}),
        (
            ScheduleUndecided("nightly", KeyError("x")),
            "rota.ticker",
            "schedule cannot be decided",
            {"schedule": "nightly"},
        ),
        (Fault("worker", "exchange with the store failed", AWAY), "rota.worker", "exchange with the store failed", {}),
    ],
)
def test_an_error_that_nobody_expected_is_logged_with_its_origin(
    happening: Happening, logger: str, message: str, fields: dict[str, object], caplog: pytest.LogCaptureFixture
) -> None:
    Observers().tell(happening)

    (record,) = caplog.records
    assert (record.name, record.levelno, record.message, fields_of(record)) == (logger, ERROR, message, fields)
    assert record.exc_info


@pytest.mark.parametrize("kind", [JobsClaimed, TicksDecided, NodeJoined, NodeLeft])
def test_what_is_silent_is_wanted_by_nobody(kind: type[Happening], caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(DEBUG)

    assert not Observers().wants(kind)


def settlements() -> list[Settlement]:
    """A job that ended after 25 ms, one that was interrupted after 5, one that never began."""
    claims = [Claim(spec("q", job_type=name), "n/1", 0, 1, 0) for name in ("known", "unknown", "known")]
    outcomes = [(succeeded(), NOW), (INTERRUPTED, NOW + 20), (INTERRUPTED, None)]
    return [
        settle(claim, outcome, policy=RetryPolicy(), started_at=began, now=NOW + 25, chance=0)
        for claim, (outcome, began) in zip(claims, outcomes, strict=True)
    ]


def test_jobs_that_ended_and_returned_are_one_line_each_for_who_wants_to_know(caplog: pytest.LogCaptureFixture) -> None:
    settled = JobsSettled("q", "n", settlements(), {"known": "report"})

    with caplog.at_level(INFO, "rota.jobs"):
        Observers().tell(settled)
    assert caplog.records == []

    with caplog.at_level(DEBUG, "rota.jobs"):
        Observers().tell(settled)
    ids = [one.claim.spec.id for one in settled.settlements]
    assert [(record.name, record.levelno, record.message) for record in caplog.records] == [
        ("rota.jobs", logging.DEBUG, "job ended"),
        ("rota.jobs", logging.DEBUG, "job returned"),
        ("rota.jobs", logging.DEBUG, "job returned"),
    ]
    assert [fields_of(record) for record in caplog.records] == [
        {"job_id": ids[0], "job_type": "report", "state": "succeeded", "attempt": 2, "ms": 25},
        {"job_id": ids[1], "job_type": "unknown", "state": "queued", "attempt": 2, "ms": 5},
        {"job_id": ids[2], "job_type": "report", "state": "queued", "attempt": 2, "ms": 0},
    ]


def failures(count: int) -> list[Settlement]:
    """Second attempts of three that failed."""
    claims = [Claim(spec("q", job_type="known"), "n/1", 0, 1, 0) for _ in range(count)]
    policy = RetryPolicy(attempts=3, delay_ms=1_000, factor=1, jitter=0)
    outcome = failed(None, {"exit_code": 3})
    return [settle(one, outcome, policy=policy, started_at=NOW, now=NOW, chance=0) for one in claims]


def test_failed_attempts_are_told_to_an_operator_with_what_went_wrong(caplog: pytest.LogCaptureFixture) -> None:
    (again,) = failures(1)
    last = settle(again.claim, failed("no"), policy=RetryPolicy(), started_at=NOW, now=NOW, chance=0)

    with caplog.at_level(INFO, "rota.jobs"):
        Observers().tell(AttemptsFailed([again, last], {"known": "report"}))

    job = again.claim.spec.id
    assert [(record.levelno, record.message, fields_of(record)) for record in caplog.records] == [
        (
            INFO,
            "attempt failed, job is tried again",
            {
                "job_id": job,
                "job_type": "report",
                "attempt": 2,
                "error": "exit code 3",
                "at": "2023-11-14T22:13:21+00:00",
            },
        ),
        (INFO, "job failed", {"job_id": job, "job_type": "report", "attempt": 2, "error": "no"}),
    ]


def test_of_many_failed_attempts_some_are_told_and_the_others_counted(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(INFO, "rota.jobs"):
        Observers().tell(AttemptsFailed(failures(1_000), {}))

    assert len(caplog.records) == 21
    assert fields_of(caplog.records[-1]) == {"attempts": 980}
