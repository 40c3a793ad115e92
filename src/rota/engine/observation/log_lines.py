"""What happens, as log lines: one fixed message for each kind, with fields. What has no line here is not logged."""

import logging
from collections.abc import Callable
from logging import DEBUG, ERROR, INFO, WARNING
from typing import Any

from rota.clock import as_datetime
from rota.engine.observation import happenings as all_kinds
from rota.engine.observation.happenings import (
    AttemptsFailed,
    DutyFailed,
    EventsJudged,
    Fault,
    Happening,
    JobsSettled,
    ScheduleUndecided,
)
from rota.errors import RotaError
from rota.model.runs.failure import cut
from rota.model.runs.settlement import Settlement

_jobs = logging.getLogger("rota.jobs")
_MOST_FAILURES = 20
"""Lines about failed attempts that are written at a time."""
_Writer = Callable[[Any], None]


def is_written(kind: type[Happening]) -> bool:
    """Whether there is a line for this kind, and somebody who reads it."""
    if kind is JobsSettled:
        return _jobs.isEnabledFor(DEBUG)
    return kind in _WRITERS


def write(happening: Happening) -> None:
    """Write the lines of a happening, if it has any."""
    writer = _WRITERS.get(type(happening))
    if writer is not None:
        writer(happening)


def _line(logger_name: str, level: int, message: str, *fields: str) -> _Writer:
    """One line, whose fields are those of the happening."""
    logger = logging.getLogger(logger_name)

    def write_line(happening: Happening) -> None:
        logger.log(level, message, extra={name: _shown(getattr(happening, name)) for name in fields})

    return write_line


def _shown(value: object) -> object:
    return str(value) if isinstance(value, Exception) else value


def _write_settled(settled: JobsSettled) -> None:
    if _jobs.isEnabledFor(DEBUG):
        for settlement in settled.settlements:
            fields = _job_fields(settlement, settled)
            _jobs.debug("job ended" if settlement.ending else "job returned", extra=fields)


def _write_failed(failed: AttemptsFailed) -> None:
    """A line for each, up to a number: a thousand jobs may fail within a second."""
    for settlement in failed.settlements[:_MOST_FAILURES]:
        spec, run_at = settlement.claim.spec, settlement.run_at
        fields: dict[str, object] = {
            "job_id": spec.id,
            "job_type": failed.job_types.get(spec.job_type, spec.job_type),
            "attempt": settlement.claim.attempt,
            "error": cut(settlement.failure or ""),
        }
        if run_at is None:
            _jobs.info("job failed", extra=fields)
        else:
            _jobs.info("attempt failed, job is tried again", extra={**fields, "at": as_datetime(run_at).isoformat()})
    more = len(failed.settlements) - _MOST_FAILURES
    if more > 0:
        _jobs.info("more attempts failed", extra={"attempts": more})


def _job_fields(settlement: Settlement, settled: JobsSettled) -> dict[str, object]:
    claim, ran = settlement.claim, settlement.ran
    return {
        "job_id": claim.spec.id,
        "job_type": settled.job_types.get(claim.spec.job_type, claim.spec.job_type),
        "state": settlement.state.value,
        "attempt": claim.attempt,
        "ms": ran[1] - ran[0] if ran else 0,
    }


def _write_judged(judged: EventsJudged) -> None:
    for job in judged.jobs:
        fields = {"configuration": judged.configuration, "job_id": job}
        logging.getLogger("rota.events").info("job triggered", extra=fields)


def _write_duty_failed(failed: DutyFailed) -> None:
    _write_error("node", "duty failed", failed.error, duty=failed.duty)


def _write_undecided(undecided: ScheduleUndecided) -> None:
    _write_error("ticker", "schedule cannot be decided", undecided.error, schedule=undecided.schedule)


def _write_fault(fault: Fault) -> None:
    logging.getLogger(f"rota.{fault.part}").error(fault.what, exc_info=fault.error)


def _write_error(part: str, message: str, error: Exception, **fields: object) -> None:
    """An error of ours says in its text what is wrong; of any other one wants to see where it came from."""
    logger = logging.getLogger(f"rota.{part}")
    if isinstance(error, RotaError):
        logger.error(message, extra={**fields, "error": str(error)})
    else:
        logger.error(message, exc_info=error, extra=fields)


_WRITERS: dict[type[Happening], _Writer] = {
    JobsSettled: _write_settled,
    AttemptsFailed: _write_failed,
    all_kinds.SettlementRefused: _line(
        "rota.worker", WARNING, "settlement refused: another attempt has the job", "job_id"
    ),
    all_kinds.ClaimLost: _line("rota.worker", WARNING, "claim lost, run stopped", "job_id", "node"),
    all_kinds.LockedRunStopped: _line("rota.worker", WARNING, "store not reached, run under a lock stopped", "job_id"),
    all_kinds.RunLeftBehind: _line("rota.worker", ERROR, "run does not end, left behind", "job_id"),
    all_kinds.ExecutorFailed: _line("rota.worker", WARNING, "executor failed", "job_id", "error"),
    all_kinds.LogLinesDropped: _line("rota.worker", ERROR, "log lines are dropped: the store is full", "error"),
    all_kinds.LogLinesWritten: _line("rota.worker", WARNING, "log lines are written again", "dropped"),
    all_kinds.ClaimsTaken: _line("rota.watchdog", WARNING, "jobs of a dead node taken back", "queue", "node", "jobs"),
    all_kinds.OrphansFound: _line("rota.watchdog", WARNING, "claims of unknown nodes found", "queue"),
    all_kinds.HistoryTrimmed: _line("rota.retention", INFO, "history trimmed", "queue", "jobs"),
    all_kinds.QueueForgotten: _line("rota.retention", INFO, "queue of a deleted node type forgotten", "queue"),
    all_kinds.SchedulePaused: _line("rota.ticker", WARNING, "schedule paused", "schedule", "note"),
    ScheduleUndecided: _write_undecided,
    EventsJudged: _write_judged,
    all_kinds.LeaveFailed: _line("rota.node", WARNING, "could not take leave of the store", "node", "error"),
    all_kinds.DrainRequested: _line("rota.node", INFO, "asked to drain; stopping after the running jobs"),
    all_kinds.StoreFailed: _line("rota.node", ERROR, "store unavailable, trying again", "error"),
    all_kinds.StoreAnswered: _line("rota.node", INFO, "store available again"),
    all_kinds.StoreReplaced: _line(
        "rota.node", ERROR, "the store was emptied or replaced; jobs accepted before may be lost"
    ),
    all_kinds.TroubleBegan: _line("rota.node", ERROR, "trouble", "finder", "trouble"),
    all_kinds.TroubleEnded: _line("rota.node", INFO, "trouble is over", "finder"),
    all_kinds.ClockJumped: _line("rota.node", WARNING, "the store's clock jumped; waiting for a second look", "ms"),
    all_kinds.ClockFollowed: _line("rota.node", WARNING, "following the store's clock", "ms"),
    DutyFailed: _write_duty_failed,
    Fault: _write_fault,
}
