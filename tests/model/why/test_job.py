"""Why a job is where it is: what leads, what is told beside it, and which of two facts counts."""

from msgspec import structs

from rota.model.job import Job, JobSpec, JobState, PastAttempt
from rota.model.job_type import JobType
from rota.model.node import Node, NodeType
from rota.model.rate import Rate, rate_key
from rota.model.why.answer import Answer, Code
from rota.model.why.job import JobFacts, why_job
from rota.model.why.queue import QueueFacts

NOW = 1_700_000_000_000
MINUTE = 60_000
NODE = Node(uuid="n", node_type="q", last_ping=NOW, slots=2)
OPEN = QueueFacts(now=NOW, queue="q", node_type=NodeType(uuid="q", name="default"), nodes=(NODE,))
FULL = structs.replace(OPEN, running=2)
REPORT = JobType(uuid="t", name="report", executor="log")
SPEC = JobSpec(id="j", job_type="t", queue="q", enqueued_at=NOW)


def facts(state: JobState = JobState.QUEUED, *, queue: QueueFacts = OPEN, **job: object) -> JobFacts:
    fields = {"spec": SPEC, "state": state, "available_at": NOW, "token": "n/1"} | job
    return JobFacts(job=Job(**fields), queue=queue, job_type=REPORT, node=NODE)  # type: ignore[arg-type]


def codes(found: Answer) -> list[Code]:
    return [found.lead.code, *(one.code for one in found.also)]


def test_of_a_job_whose_time_has_not_come_it_is_not_told_what_would_be_in_its_way_now() -> None:
    waiting = structs.replace(facts(JobState.DELAYED, queue=FULL, available_at=NOW + MINUTE), ahead=3)

    assert codes(why_job(waiting)) == [Code.NOT_DUE]


def test_what_closes_its_queue_is_told_of_a_job_whose_time_has_not_come() -> None:
    waiting = facts(JobState.DELAYED, queue=structs.replace(FULL, is_paused=True), available_at=NOW + MINUTE)

    assert codes(why_job(waiting)) == [Code.NOT_DUE, Code.PAUSED]


def test_a_job_whose_definitions_are_gone_says_both() -> None:
    lost = structs.replace(facts(queue=structs.replace(OPEN, node_type=None)), job_type=None)

    found = why_job(lost)

    assert codes(found) == [Code.DEFINITION_MISSING, Code.DEFINITION_MISSING]
    assert [one.job_type or one.node_type for one in (found.lead, *found.also)] == ["t", "q"]


def test_a_rate_that_is_used_up_goes_before_a_lock_and_before_those_ahead() -> None:
    spec = structs.replace(SPEC, lock_key="l", rate_key=rate_key(Rate(10, MINUTE), "acme", {}))
    held = structs.replace(facts(spec=spec), lock_holder="other", ahead=2)
    limited = structs.replace(held, limited_until=NOW + MINUTE)

    assert codes(why_job(held)) == [Code.LOCK_HELD]
    assert codes(why_job(limited)) == codes(why_job(structs.replace(limited, lock_holder=None))) == [Code.RATE_LIMITED]
    assert (why_job(limited).lead.until, why_job(limited).lead.ahead) == (NOW + MINUTE, 2)
    assert "for 'acme'" in why_job(limited).lead.sentence
    assert codes(why_job(structs.replace(facts(), ahead=2))) == [Code.BEHIND]


def test_a_rate_of_the_job_type_names_nobody_else() -> None:
    spec = structs.replace(SPEC, rate_key=rate_key(Rate(10, MINUTE), "t", {}))

    sentence = why_job(structs.replace(facts(spec=spec), limited_until=NOW + MINUTE)).lead.sentence

    assert sentence.endswith(": at most 10 within 1 minute may start of 'report'.")


def test_the_latest_end_is_by_the_jobs_own_timeout_or_that_of_its_type() -> None:
    running = facts(JobState.RUNNING, started_at=NOW - MINUTE)
    of_type = structs.replace(running, job_type=structs.replace(REPORT, timeout_ms=5 * MINUTE))
    own = structs.replace(of_type, job=structs.replace(running.job, spec=structs.replace(SPEC, timeout_ms=2 * MINUTE)))

    assert [why_job(one).lead.until for one in (running, of_type, own)] == [None, NOW + 4 * MINUTE, NOW + MINUTE]
    assert why_job(structs.replace(own, job_type=None)).lead.until == NOW + MINUTE


def test_a_job_that_waits_for_another_try_tells_the_last_error() -> None:
    past = tuple(PastAttempt(number=n, ended_at=NOW, error=f"error {n}") for n in (1, 2))

    found = why_job(facts(JobState.DELAYED, available_at=NOW + MINUTE, attempts=2, past=past)).lead

    assert (found.code, found.attempts, found.error) == (Code.BACKING_OFF, 2, "error 2")
    assert found.sentence.startswith("Attempt 2 failed: error 2; ")


def test_an_end_tells_how_many_attempts_there_were_if_there_were_several() -> None:
    ended = [facts(JobState.FAILED, attempts=n, ended_at=NOW, results={"exit_code": 3}) for n in (1, 2)]

    once, twice = (why_job(one).lead for one in ended)

    assert once.sentence == "It failed at 2023-11-14 22:13:20 UTC: exit code 3."
    assert twice.sentence == "It failed at 2023-11-14 22:13:20 UTC, after 2 attempts: exit code 3."
    assert once.error == "exit code 3"


def test_the_error_of_an_end_is_told_as_it_was_given() -> None:
    errors = {"type": "x", "message": "no luck"}

    found = why_job(facts(JobState.FAILED, ended_at=NOW, attempts=1, errors=errors)).lead

    assert found.error == errors
    assert found.sentence.endswith(": no luck.")


def test_what_succeeded_has_no_error_whatever_its_exit_code_was() -> None:
    found = why_job(facts(JobState.SUCCEEDED, ended_at=NOW, attempts=1, results={"exit_code": 3})).lead

    assert found.error is None
    assert found.sentence == "It succeeded at 2023-11-14 22:13:20 UTC."
