"""What follows a task of Celery's: its links, chains beside each other, and a limit of its time."""

import subprocess
import sys
import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from rota import InvalidInput, JobFailed, NotFound
from rota.clock import as_millis
from rota.moving.celery import Celery, Task, chain, chord, group, soft_limit
from rota.moving.celery.exceptions import SoftTimeLimitExceeded
from rota.moving.celery.soft_limit import _Limit, call_within
from rota.moving.common.identity import job_id_of
from tests.cli.calling import environment
from tests.moving.test_celery import add, app, fail, work

__all__ = ["app"]


def write(line: object, path: str) -> str:
    with Path(path).open("a") as file:
        file.write(f"{line}\n")
    return f"wrote {line}"


def report(request: Any, error: Exception, traceback: Any) -> None:
    write(f"{request.id} {type(error).__name__} {error} {traceback is not None}", "reports")


def note(parent: str) -> None:
    write(parent, "notes")


def report_to(request: Any, error: Exception, traceback: Any, path: str) -> None:
    write(type(error).__name__, path)


def break_down(request: Any, error: Exception, traceback: Any) -> None:
    raise OSError("no disk")


def nothing() -> None:
    """Takes no result."""


def ask_for_more(self: Task[..., Any]) -> None:
    self.retry(exc=KeyError("never"), countdown=0, max_retries=5)


def unlucky() -> None:
    raise KeyError("never")


def forever() -> None:
    while True:
        pass


def tidy() -> str:
    try:
        forever()
    except SoftTimeLimitExceeded:
        return "tidied up"
    raise AssertionError


def kwargs_of(self: Task[..., Any], x: int) -> dict[str, object]:
    return self.request.kwargs


def test_a_link_gets_the_result(app: Celery, tmp_path: Path) -> None:
    file = tmp_path / "lines"
    task, writing = app.task(add), app.task(write)

    task.apply_async((1, 2), link=writing.s(str(file)))
    task.apply_async((4, 5), link=[task.s(10), writing.si("as it is", str(file)).set(priority=9)])
    work(app)

    assert sorted(file.read_text().splitlines()) == ["3", "as it is"]


def test_nothing_is_linked_to_a_failure_and_no_error_to_a_success(app: Celery) -> None:
    noting = app.task(note)

    app.task(fail).apply_async(link=noting.s())
    app.task(add).apply_async((1,), link_error=noting.s())
    work(app)

    assert not Path("notes").exists()


def test_a_linked_task_has_an_id_that_follows_from_its_job(app: Celery, tmp_path: Path) -> None:
    file = tmp_path / "lines"
    result = app.task(add).apply_async((1, 2), link=app.task(write).s(str(file)), task_id="sum")
    work(app)

    assert file.read_text() == "3\n"
    linked = app.AsyncResult(f"{job_id_of('task_id', 'sum')} link 0")
    assert (result.get(), linked.get()) == (3, "wrote 3")


def test_an_error_link_gets_the_id_or_is_called_with_the_exception(app: Celery) -> None:
    failing = app.task(autoretry_for=(KeyError,), retry_kwargs={"max_retries": 2, "countdown": 0})(unlucky)

    job = failing.apply_async(link_error=[app.task(note).s(), app.task(report).s()])
    work(app)

    assert job.state == "FAILURE"
    assert Path("notes").read_text() == f"{job.id}\n"
    assert Path("reports").read_text() == f"{job.id} KeyError 'never' True\n"


def test_an_error_link_has_its_own_arguments_behind_those_that_it_is_called_with(app: Celery) -> None:
    app.task(unlucky).apply_async(link_error=app.task(report_to).s("letters"))
    work(app)

    assert Path("letters").read_text() == "KeyError\n"


def test_a_task_is_not_done_again_because_what_follows_it_cannot_be(app: Celery) -> None:
    options: Any = {"default_retry_delay": 0}
    done = app.task(**options)(add).apply_async((1, 2), link=app.task(nothing).s())
    failed = app.task(**options)(unlucky).apply_async(link_error=[app.task(break_down).s(), app.task(note).s()])
    work(app)

    attempts = [app.__rota_app__.handle(one.id).job.attempts for one in (done, failed)]
    assert (attempts, done.state, failed.state) == ([1, 1], "FAILURE", "FAILURE")
    assert isinstance(failed.result, KeyError)
    assert Path("notes").read_text() == f"{failed.id}\n"


def test_a_task_that_asks_for_more_retries_than_it_has_tells_of_its_failure(app: Celery) -> None:
    job = app.task(bind=True, max_retries=1)(ask_for_more).apply_async(link_error=app.task(note).s())
    work(app)

    assert app.__rota_app__.handle(job.id).job.attempts == 2
    assert Path("notes").read_text() == f"{job.id}\n"


@pytest.mark.parametrize("kind", ["link", "link_error"])
def test_only_single_tasks_can_be_linked(app: Celery, kind: str) -> None:
    task = app.task(add)
    options: dict[str, Any] = {kind: chain(task.s(1), task.s(2))}

    with pytest.raises(InvalidInput, match=rf"^{kind}: takes single tasks, such as add\.s\(1\), not chain"):
        task.apply_async((1,), **options)


def test_the_arguments_of_a_task_are_its_own(app: Celery) -> None:
    asking = app.task(bind=True)(kwargs_of)
    result = asking.apply_async((1,), link=app.task(note).si("x"))
    work(app)

    assert result.get() == {"x": 1}


def test_chains_run_beside_each_other(app: Celery) -> None:
    task = app.task(add)
    result = group(task.s(1) | task.s(10), task.s(5), chord([task.s(1), task.s(2)], app.task(sum_up).s()))()
    work(app)

    assert (result.get(timeout=60), result.successful(), result.completed_count()) == ([12, 6, 5], True, 3)
    with pytest.raises(InvalidInput, match=r"^countdown: is not carried for a chain, group or chord"):
        group(task.s(1) | task.s(10)).apply_async(countdown=1)


def sum_up(numbers: list[int]) -> int:
    return sum(numbers)


def test_a_task_that_takes_too_long_may_tidy_up(app: Celery) -> None:
    result = app.task(soft_time_limit=2)(tidy).delay()
    app.conf.task_soft_time_limit = 2
    failing = app.task(forever).delay()
    work(app)

    assert result.get() == "tidied up"
    assert failing.state == "FAILURE"
    with pytest.raises(JobFailed, match="SoftTimeLimitExceeded"):
        failing.get()


def test_code_that_is_quick_enough_is_left_alone() -> None:
    assert call_within(3600, lambda: add(1)) == 2
    assert call_within(None, lambda: add(1)) == 2


def test_a_limit_whose_task_has_ended_leaves_no_timer_behind() -> None:
    before = set(threading.enumerate())

    timers = call_within(3600, lambda: [one for one in threading.enumerate() if isinstance(one, threading.Timer)])

    assert [one.finished.is_set() for one in timers if one not in before] == [True]


def test_a_limit_that_strikes_at_the_last_moment_is_not_felt_by_what_the_thread_does_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As when Python overlooks for a while what is to be raised."""
    limit = _Limit(3600)
    with monkeypatch.context() as patch:
        patch.setattr(limit, "_raise", lambda: None)
        limit.strike()

    limit.stop()

    change_threads()
    assert not hasattr(soft_limit._here, "is_deaf"), "limits have an effect in this thread as before"


def change_threads() -> None:
    """Whatever is to be raised in this thread is raised when another one wants to go on."""
    others = [threading.Thread(target=count_up) for _ in range(2)]
    for one in others:
        one.start()
    count_up()
    for one in others:
        one.join()


def count_up() -> None:
    end = time.monotonic() + 0.05
    while time.monotonic() < end:
        pass


def test_a_limit_that_never_struck_leaves_nothing_for_python_to_look_for() -> None:
    """Python 3.11 looks at every step of every thread as long as it believes that something is to be raised, and with
    a profile function it does nothing else then."""
    program = (
        "import sys; from rota.moving.celery.soft_limit import call_within; call_within(3600, int); "
        "sys.setprofile(print); call_within(None, int); sys.setprofile(None)"
    )

    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, timeout=60, env=environment())


def test_where_python_raises_nothing_a_limit_has_no_effect_and_slows_nobody_down() -> None:
    """So it is in Python 3.11 when a thread could not be started."""
    program = """
import resource, sys, threading, time
from rota.moving.celery import soft_limit
from rota.moving.celery.exceptions import SoftTimeLimitExceeded
from rota.moving.celery.soft_limit import call_within

struck, strike = [], soft_limit._Limit.strike

def strike_and_tell(limit):
    strike(limit)
    struck.append(limit)

soft_limit._Limit.strike = strike_and_tell

def spin():
    while not struck and not getattr(soft_limit._here, "is_deaf", False):
        pass
    end = time.monotonic() + 0.2
    while time.monotonic() < end:
        pass

before = resource.getrlimit(resource.RLIMIT_AS)
threading.stack_size(1 << 30)
resource.setrlimit(resource.RLIMIT_AS, (1 << 29, before[1]))
try:
    threading.Thread(target=int).start()
except RuntimeError:
    print("no thread")
resource.setrlimit(resource.RLIMIT_AS, before)
threading.stack_size(0)
for _ in range(2):
    struck.clear()  # the timer may strike before the call has begun
    try:
        call_within(0.01, spin)
        print("without effect")
    except SoftTimeLimitExceeded:
        print("felt")
while threading.active_count() > 1:
    time.sleep(0.01)
sys.setprofile(lambda *event: None)
call_within(None, int)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, timeout=60, env=environment(), text=True
    )

    answer = "without effect" if sys.version_info < (3, 12) else "felt"
    assert done.stdout.splitlines() == ["no thread", answer, answer]
    assert done.stderr.count("soft time limits have no effect in this thread any more") == (answer != "felt")


def test_a_limit_that_strikes_too_late_does_nothing() -> None:
    limit = _Limit(3600)
    limit.stop()

    limit.strike()

    change_threads()


def test_a_link_has_the_arguments_by_name_and_the_options_that_it_was_given(app: Celery) -> None:
    task = app.task(add)
    link = task.s(y=10).set(priority=9)
    task.apply_async((1, 2), link=link, task_id="sum")
    work(app)

    linked = app.__rota_app__.handle(app.AsyncResult(f"{job_id_of('task_id', 'sum')} link 0")._handle.id).job
    assert (linked.spec.arguments, linked.spec.priority, linked.results) == ({"x": 3, "y": 10}, 9, 13)


def test_a_link_may_say_when_by_an_instant_or_a_span(app: Celery) -> None:
    task = app.task(add)
    soon = datetime.now(UTC) + timedelta(milliseconds=50)
    end = soon + timedelta(hours=1)
    links = [task.s(3).set(eta=soon, expires=timedelta(hours=2)), task.s(4).set(expires=end, task_id="own")]
    task.apply_async((1, 2), link=links, task_id="sum")
    work(app)

    handle = app.__rota_app__.handle
    later = handle(app.AsyncResult(f"{job_id_of('task_id', 'sum')} link 0")._handle.id).job.spec
    own = handle(app.AsyncResult("own")._handle.id).job.spec
    assert (later.run_at, (later.expires_at or 0) - later.enqueued_at) == (as_millis(soon), 2 * 3600 * 1000)
    assert (own.run_at, own.expires_at) == (None, as_millis(end))


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"eta": "tomorrow"}, "eta: must be a datetime"),
        ({"countdown": 1, "eta": datetime.now(UTC)}, "eta: cannot stand beside countdown"),
        ({"headers": {}}, "headers"),
        ({"link": "another"}, "link: takes tasks that nothing follows"),
        ({"link_error": "another"}, "link: takes tasks that nothing follows"),
    ],
)
def test_what_a_link_cannot_be_given_is_refused_before_there_is_a_job(
    app: Celery, options: dict[str, object], told: str
) -> None:
    task = app.task(add)

    with pytest.raises(InvalidInput, match=told):
        task.apply_async((1, 2), link=task.s(3).set(**options), task_id="sum")

    with pytest.raises(NotFound):
        app.__rota_app__.handle(job_id_of("task_id", "sum")).job  # noqa: B018  asking raises


def remind(line: str = "again", path: str = "letters") -> None:
    write(line, path)


def test_an_error_link_that_is_immutable_or_has_all_but_one_argument_is_enqueued(app: Celery) -> None:
    writing = app.task(write)
    links = [app.task(remind).si(), writing.si("as it is", "letters"), writing.s(path="letters"), writing.s("letters")]
    job = app.task(unlucky).apply_async(link_error=links)
    work(app)

    assert sorted(Path("letters").read_text().splitlines()) == sorted(["again", "as it is", job.id, job.id])


def test_a_link_whose_task_is_in_no_code_fails_its_job_once(app: Celery) -> None:
    linked = app.task(note)
    done = app.task(default_retry_delay=0)(add).apply_async((1,), link=linked.s())
    del app.tasks[linked.name]
    work(app)

    assert "is not in the code of this worker" in str(done.traceback)
    assert app.__rota_app__.handle(done.id).job.attempts == 1


def sum_of(**numbers: int) -> int:
    return sum(numbers.values())


def test_a_task_that_takes_any_names_is_linked_too(app: Celery) -> None:
    done = app.task(sum_of).apply_async(kwargs={"a": 1, "b": 2}, link=app.task(note).s())
    work(app)

    assert (done.get(), Path("notes").read_text()) == (3, "3\n")
