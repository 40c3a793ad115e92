"""Executors of third parties may do anything: the job fails, and the node goes on."""

import asyncio
from pathlib import Path

import pytest
from msgspec import structs

from rota.engine.jobs.intake import JobRequest
from rota.model.job import Job, JobState
from rota.model.limits import MAX_LOG_ATTEMPT_BYTES, MAX_LOG_MESSAGE_BYTES
from rota.model.runs.retry import RetryPolicy
from rota.store import Store
from tests.engine.job_functions import new_stage
from tests.engine.working import install_plug_in, until, working
from tests.installation import Installation

pytestmark = pytest.mark.stores("sqlite-memory", "redis")


@pytest.fixture
def plug_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name under which `use` installs an executor."""
    monkeypatch.syspath_prepend(tmp_path)
    return "odd"


def run_with(store: Store, folder: Path, executor: str, **rules: object) -> tuple[Job, Job, list[str]]:
    """A job of a third party's executor, the next one in the same slot, and the first one's log."""
    install_plug_in(folder, odd=f"tests.engine.job_functions:{executor}")

    async def scene() -> tuple[Job, Job, list[str]]:
        new_stage()
        installation = Installation(store)
        installation.define("odd", "odd", **rules)  # type: ignore[arg-type]
        installation.define_python("nothing")
        async with working(store, threads=1):
            odd = installation.enqueue("odd")
            job, after = await installation.ended(odd, installation.enqueue("nothing"))
            entries = store.read_logs(odd, limit=100_000).entries
            return job, after, [entry.message for entry in entries]

    return asyncio.run(scene())


@pytest.mark.parametrize(
    ("executor", "says"),
    [
        ("ReturnsNothing", "None"),
        ("ReturnsUnknownKind", "splendid"),
        ("ReturnsNan", "results.ratio"),
        ("ReturnsTooMuch", "results"),
        ("ReturnsAnObject", "results"),
        ("ReturnsSurrogates", "errors"),
        ("RaisesError", "out of order"),
        ("RaisesSurrogates", "?"),
        ("RaisesUnspeakable", "no message"),
        ("RaisesAtLength", "cut"),
        ("RaisesCancelled", ""),
        ("RaisesExit", "3"),
        ("RaisesBase", "beyond all errors"),
        ("RaisesInterrupt", "Ctrl-C"),
        ("RaisesGeneratorExit", "closed"),
        ("RaisesSilenced", "no message"),
        ("CancelsItself", ""),
        ("RaisesStoreError", "another store"),
    ],
)
def test_an_executor_that_misbehaves_fails_its_job_and_no_other(
    store: Store, tmp_path: Path, plug_in: str, executor: str, says: str
) -> None:
    job, after, _ = run_with(store, tmp_path, executor)

    assert job.state is JobState.FAILED
    assert isinstance(job.errors, dict)
    assert says in str(job.errors["message"])
    assert len(str(job.errors["message"])) < 100_000
    assert after.state is JobState.SUCCEEDED


@pytest.mark.parametrize(
    ("function", "kind"),
    [
        ("cancel_itself", "CancelledError"),
        ("raise_cancelled", "CancelledError"),
        ("raise_generator_exit", "GeneratorExit"),
        ("raise_keyboard_interrupt", "KeyboardInterrupt"),
    ],
)
def test_a_function_that_raises_what_is_no_ordinary_error_fails_its_job_and_the_slot_goes_on(
    store: Store, function: str, kind: str
) -> None:
    async def scene() -> None:
        installation = Installation(store)
        installation.define_python(function)
        installation.define_python("count_cancellations")
        async with working(store, threads=1):
            odd, after = await installation.ended(
                installation.enqueue(function), installation.enqueue("count_cancellations")
            )

            assert odd.state is JobState.FAILED
            assert isinstance(odd.errors, dict)
            assert odd.errors["type"] == kind
            assert (after.state, after.results) == (JobState.SUCCEEDED, 0)

    asyncio.run(scene())


def test_a_function_that_cancels_its_task_and_ends_well_takes_no_other_job_with_it(store: Store) -> None:
    async def scene() -> None:
        installation = Installation(store)
        functions = [installation.define_python("cancel_itself_and_end"), installation.define_python("step_aside")]
        # So many that some are claimed ahead, and begin in the moment in which the one before them ends.
        job_ids = [installation.enqueue(name) for name in functions * 50]
        async with working(store, threads=1):
            jobs = await installation.ended(*job_ids)

            assert {job.state for job in jobs} == {JobState.SUCCEEDED}

    asyncio.run(scene())


def test_a_slot_that_is_cancelled_while_it_has_nothing_to_do_takes_the_next_job(store: Store) -> None:
    async def scene() -> None:
        stage = new_stage()
        installation = Installation(store)
        installation.define_python("cancel_its_slot_later")
        installation.define_python("count_cancellations")
        async with working(store, threads=1):
            await installation.ended(installation.enqueue("cancel_its_slot_later"))
            await until(lambda: stage.ended == ["cancelled"], "the slot to be cancelled")

            (after,) = await installation.ended(installation.enqueue("count_cancellations"))

            assert (after.state, after.results) == (JobState.SUCCEEDED, 0)

    asyncio.run(scene())


def test_partial_results_that_no_store_could_carry_are_left_out(store: Store, tmp_path: Path, plug_in: str) -> None:
    job, after, _ = run_with(store, tmp_path, "LeavesAnObject", timeout_ms=50)

    assert (job.state, job.results) == (JobState.FAILED, None)
    assert isinstance(job.errors, dict)
    assert job.errors["type"] == "timeout"
    assert after.state is JobState.SUCCEEDED


def test_a_timeout_that_could_not_kill_everything_names_what_runs_on_and_is_not_tried_again_beside_it(
    store: Store, tmp_path: Path, plug_in: str
) -> None:
    again = RetryPolicy(attempts=2, delay_ms=0)

    job, after, _ = run_with(store, tmp_path, "LeavesProcesses", timeout_ms=50, retry=again)

    assert (job.state, job.attempts) == (JobState.FAILED, 1)
    assert isinstance(job.errors, dict)
    assert job.errors["type"] == "timeout"
    assert "may not kill 12 (sudo)" in str(job.errors["message"])
    assert after.state is JobState.SUCCEEDED


def test_a_wait_that_is_no_number_is_not_asked_for(store: Store, tmp_path: Path, plug_in: str) -> None:
    job, after, _ = run_with(store, tmp_path, "ReturnsOddWait", retry=RetryPolicy(attempts=2, delay_ms=0))

    assert (job.state, job.attempts, job.errors) == (JobState.FAILED, 2, "no")
    assert after.state is JobState.SUCCEEDED


def test_an_attempt_that_cannot_be_settled_fails_its_job_and_the_slot_goes_on(store: Store) -> None:
    # No door lets such a policy in: its third wait is more than a number can be.
    policy = RetryPolicy(attempts=9, delay_ms=0, factor=1e300)

    async def scene() -> tuple[Job, Job]:
        installation = Installation(store)
        request = JobRequest(job_type=installation.define_python("fail"))
        spec = structs.replace(installation.intake.make_spec(request, store.now()), retry=policy)
        installation.define_python("nothing")
        async with working(store, threads=1):
            store.enqueue_jobs([spec], now=store.now())
            job, after = await installation.ended(spec.id, installation.enqueue("nothing"))
            return job, after

    job, after = asyncio.run(scene())

    assert (job.state, job.attempts) == (JobState.FAILED, 3)
    assert isinstance(job.errors, dict)
    assert "OverflowError" in str(job.errors["message"])
    assert after.state is JobState.SUCCEEDED


def test_log_lines_that_no_store_could_carry_are_made_fit(store: Store, tmp_path: Path, plug_in: str) -> None:
    job, after, messages = run_with(store, tmp_path, "LogsRubbish")

    assert job.state is JobState.SUCCEEDED
    assert messages[0] == "a lone ? surrogate"
    assert len(messages[1]) <= MAX_LOG_MESSAGE_BYTES
    assert messages[1].endswith("[line cut]")
    assert after.state is JobState.SUCCEEDED


def test_an_attempt_of_any_executor_may_log_so_much_and_no_more(store: Store, tmp_path: Path, plug_in: str) -> None:
    job, _, messages = run_with(store, tmp_path, "LogsAFlood")

    assert job.state is JobState.SUCCEEDED
    assert sum(map(len, messages)) <= MAX_LOG_ATTEMPT_BYTES + 1_000
    assert "the log ends here" in messages[-1]


def test_an_error_whose_text_is_of_another_class_is_told_as_it_is(store: Store, installation: Installation) -> None:
    async def scene() -> None:
        installation.define_python("fail_in_other_classes")
        async with working(store):
            (job,) = await installation.ended(installation.enqueue("fail_in_other_classes"))

        assert isinstance(job.errors, dict)
        assert (job.errors["type"], job.errors["message"]) == ("ValueError", "a marked reason")
        assert "fail_in_other_classes" in job.errors["traceback"]

    asyncio.run(scene())
