"""Every operation on a job in every state: what moves, moves as `MOVES` allows, and every allowed move is made."""

from collections.abc import Callable

import pytest

from rota.model.job import FINAL_STATES, MOVES, Claim, JobState
from rota.model.job_type import OnNodeDeath
from rota.model.runs.outcome import cancelled, refused
from rota.model.runs.settlement import Settlement
from rota.store import Store
from tests.contract.building import (
    LATER,
    NOW,
    claim,
    claim_one,
    claims_of,
    die,
    enqueue,
    fail,
    fail_and_retry,
    finish,
    given,
    interrupt,
    log_batch,
    new_node,
    new_queue,
    reclaim,
    renew,
    settled,
    spec,
    state_of,
    states_of,
    succeed,
    token_of,
)


class Case:
    """One job in one state, alone in its queue, with everything an operation may need."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.queue, self.node = new_queue(), new_node()
        self.spec = spec(self.queue, lock_key="lock", unique_key="key")
        self.claim = Claim(self.spec, token_of(self.node), 0, 0, 0)
        """The claim that holds the job, or that would like to."""

    def enqueue(self, run_at: int | None = None) -> None:
        self.spec = spec(self.queue, lock_key="lock", unique_key="key", run_at=run_at)
        self.claim = Claim(self.spec, token_of(self.node), 0, 0, 0)
        enqueue(self.store, self.spec)

    def run(self) -> None:
        self.enqueue()
        self.claim = claim_one(self.store, self.queue, node=self.node)

    def state(self) -> JobState | None:
        return states_of(self.store, [self.spec.id])[0]


def is_delayed(case: Case) -> None:
    case.enqueue(run_at=NOW + 1_000)


def is_between_attempts(case: Case) -> None:
    case.run()
    finish(case.store, fail_and_retry(case.claim))


def is_queued(case: Case) -> None:
    case.enqueue()


def is_put_back(case: Case) -> None:
    case.run()
    finish(case.store, interrupt(case.claim))


def waits_for_a_lock(case: Case) -> None:
    enqueue(case.store, spec(case.queue, lock_key="lock"))
    claim_one(case.store, case.queue)
    case.enqueue()
    assert given(case.store, case.queue) == []


def is_running(case: Case) -> None:
    case.run()


def is_being_cancelled(case: Case) -> None:
    case.run()
    case.store.cancel_jobs([case.spec.id], now=NOW)


def has_succeeded(case: Case) -> None:
    case.run()
    finish(case.store, succeed(case.claim))


def has_failed(case: Case) -> None:
    case.run()
    finish(case.store, fail(case.claim))


def was_cancelled_while_it_waited(case: Case) -> None:
    case.enqueue()
    case.store.cancel_jobs([case.spec.id], now=NOW)


def was_cancelled_while_it_ran(case: Case) -> None:
    is_being_cancelled(case)
    finish(case.store, settled(case.claim, cancelled()))


SITUATIONS: list[Callable[[Case], None]] = [
    is_delayed,
    is_between_attempts,
    is_queued,
    is_put_back,
    waits_for_a_lock,
    is_running,
    is_being_cancelled,
    has_succeeded,
    has_failed,
    was_cancelled_while_it_waited,
    was_cancelled_while_it_ran,
]


def settling(settle: Callable[[Claim], Settlement]) -> Callable[[Case], object]:
    return lambda case: finish(case.store, settle(case.claim))


def settling_with_another_token(settle: Callable[[Claim], Settlement]) -> Callable[[Case], object]:
    return lambda case: finish(case.store, settle(Claim(case.spec, token_of(new_node()), 0, 0, 0)))


def claim_behind_another(case: Case) -> None:
    """A claim that makes the job ready if it is due, but is given another one."""
    enqueue(case.store, spec(case.queue, priority=9))
    assert len(claim(case.store, case.queue, limit=1, now=LATER)) == 1


OPERATIONS: dict[str, Callable[[Case], object]] = {
    "enqueue": lambda case: enqueue(case.store, case.spec),
    "enqueue later": lambda case: enqueue(case.store, case.spec, now=LATER),
    "claim": lambda case: claim(case.store, case.queue),
    "claim later": lambda case: claim(case.store, case.queue, now=LATER),
    "claim behind another": claim_behind_another,
    "succeed": settling(succeed),
    "fail": settling(fail),
    "refuse": settling(lambda held: settled(held, refused("bad", "never"))),
    "fail and retry": settling(fail_and_retry),
    "interrupt": settling(interrupt),
    "end as cancelled": settling(lambda held: settled(held, cancelled())),
    "succeed with another token": settling_with_another_token(succeed),
    "retry with another token": settling_with_another_token(fail_and_retry),
    "interrupt with another token": settling_with_another_token(interrupt),
    "finish and claim": lambda case: case.store.finish_and_claim_jobs(
        case.queue, [interrupt(case.claim)], token=token_of(case.node), limit=9, now=NOW
    ),
    "renew": lambda case: renew(case.store, case.queue, case.node, case.claim),
    "recover": lambda case: case.store.recover_claims(case.queue, case.node, {}, floor=0, now=NOW),
    "leave": lambda case: case.store.leave_queue(case.queue, case.node, floor=0, now=NOW),
    "read the claims of the node": lambda case: claims_of(case.store, case.queue, case.node),
    "look for orphans": lambda case: case.store.mark_orphans(case.queue),
    "reclaim with another pulse": lambda case: case.store.reclaim_jobs(
        case.queue, [die(case.claim)], node=case.node, pulse="another", now=NOW
    ),
    "reclaim": lambda case: reclaim(case.store, die(case.claim, LATER)),
    "reclaim and fail": lambda case: reclaim(case.store, die(case.claim, LATER, OnNodeDeath.FAIL)),
    "cancel": lambda case: case.store.cancel_jobs([case.spec.id], now=NOW),
    "retry": lambda case: case.store.retry_jobs([case.spec.id], now=NOW),
    "pause": lambda case: case.store.pause_queue(case.queue),
    "resume": lambda case: case.store.resume_queue(case.queue),
    "log": lambda case: case.store.append_logs([log_batch(case.claim, "line")]),
    "delete": lambda case: case.store.delete_jobs([case.spec.id]),
    "trim": lambda case: case.store.trim_history(case.queue, ended_before=LATER, keep=0, limit=9),
}
FORGETTING = ("delete", "trim")
# These go through two moves in one step: a due job is made ready and given, a returning one is given again.
TWO_STEPS = ("claim", "claim later", "finish and claim")
# Enough to make every move.
MOVING = (
    "claim",
    "claim behind another",
    "succeed",
    "fail",
    "fail and retry",
    "interrupt",
    "cancel",
    "end as cancelled",
    "retry",
)

Move = tuple[JobState, JobState | None]


def moves_of(store: Store, operation: str) -> dict[str, Move]:
    """What the operation does to a job in each situation."""
    moves: dict[str, Move] = {}
    for arrange in SITUATIONS:
        case = Case(store)
        arrange(case)
        before = case.state()
        assert before is not None
        OPERATIONS[operation](case)
        moves[arrange.__name__] = (before, case.state())
    return moves


def is_legal(operation: str, before: JobState, after: JobState | None) -> bool:
    if after is None:
        return operation in FORGETTING and before in FINAL_STATES
    if after is before or after in MOVES[before]:
        return True
    return operation in TWO_STEPS and any(after in MOVES[between] for between in MOVES[before])


@pytest.mark.parametrize("operation", OPERATIONS)
def test_only_legal_moves_are_made_by(store: Store, operation: str) -> None:
    moves = moves_of(store, operation)

    illegal = {situation: move for situation, move in moves.items() if not is_legal(operation, *move)}
    assert illegal == {}


def test_every_legal_move_is_made(store: Store) -> None:
    made = {move for operation in MOVING for move in moves_of(store, operation).values()}

    legal = {(before, after) for before, states in MOVES.items() for after in states}
    assert legal <= made


def test_a_succeeded_job_never_moves(store: Store) -> None:
    for operation, act in OPERATIONS.items():
        case = Case(store)
        has_succeeded(case)

        act(case)

        assert case.state() is (None if operation in FORGETTING else JobState.SUCCEEDED), operation


def test_only_its_holder_moves_a_running_job(store: Store) -> None:
    others = [name for name in OPERATIONS if "another token" in name]
    harmless = [
        "enqueue",
        "claim",
        "retry",
        "delete",
        "trim",
        "pause",
        "resume",
        "cancel",
        "reclaim with another pulse",
    ]
    for operation in [*others, *harmless]:
        case = Case(store)
        is_running(case)

        OPERATIONS[operation](case)

        assert state_of(store, case.spec.id) is JobState.RUNNING, operation
        assert finish(store, succeed(case.claim)) == frozenset(), operation
