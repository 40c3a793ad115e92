"""What programs ask a scheduler, and what it answers."""

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from rota import Scheduler, Task
from rota.dialects.tasks.scheduler import StoredTask
from rota.errors import Conflict, InvalidInput, NotFound, StoreUnavailable
from tests.shortage import no_threads

pytestmark = pytest.mark.stores("sqlite-file")  # the same code for all


@pytest.fixture
def scheduler(store_url: str) -> Iterator[Scheduler]:
    with Scheduler(store_url) as made:
        yield made


def test_tasks_are_found_by_their_status_and_no_more_than_are_wanted(scheduler: Scheduler) -> None:
    for number in range(3):
        scheduler.add_task({"id": f"later {number}"}, delay=3_600_000)
    scheduler.add_task({"id": "now"})

    assert [task.id for task in scheduler.get_tasks("enqueued")] == ["now"]
    assert {task.id for task in scheduler.get_tasks("delayed")} == {"later 0", "later 1", "later 2"}
    assert len(scheduler.get_tasks()) == 4
    assert len(scheduler.get_tasks("delayed", limit=2)) == 2
    assert len(scheduler.get_tasks(limit=1)) == 1
    assert scheduler.get_tasks("failed") == []
    with pytest.raises(InvalidInput, match=r"status: must be one of scheduled, .*, got 'late'"):
        scheduler.get_tasks("late")


def test_a_stored_task_is_changed_where_it_is_and_tells_of_it(scheduler: Scheduler) -> None:
    added = scheduler.add_task({"id": "a"}, delay=3_600_000)

    changed = scheduler.change_task("a", data=2, delay=7_200_000)

    assert (changed.data, changed.status) == (2, "delayed")
    assert (changed.next_run or 0) - (added.next_run or 0) >= 3_600_000
    assert added.refresh() == changed
    assert scheduler.require_task("a") == changed


def test_what_is_not_there_is_not_found(scheduler: Scheduler) -> None:
    added = scheduler.add_task({"id": "a"})
    assert scheduler.delete_task("a")

    assert scheduler.get_task("a") is None
    assert not scheduler.delete_task("a")
    with pytest.raises(NotFound, match="no task 'a'"):
        added.refresh()
    with pytest.raises(NotFound, match="no task 'a'"):
        added.with_delay(1_000)


def test_a_task_that_no_scheduler_knows_cannot_be_changed() -> None:
    with pytest.raises(Conflict, match="task 'a' is not known to a scheduler; add it first"):
        StoredTask(id="a").with_delay(1_000)


def test_a_delay_that_is_given_when_a_task_is_added_goes_before_its_own(scheduler: Scheduler) -> None:
    assert scheduler.add_task(Task(id="now", delay=3_600_000), delay=0).status == "enqueued"
    assert scheduler.add_task(Task(id="later", delay=0), delay=3_600_000).status == "delayed"
    with pytest.raises(InvalidInput, match="delay: must be from 0"):
        scheduler.add_task({"id": "never"}, delay=-1)


@pytest.mark.parametrize("prefix", ["x" * 65, "a\nb", 17])
def test_what_is_no_prefix_is_refused(store_url: str, prefix: object) -> None:
    with pytest.raises(InvalidInput, match="prefix: must be text of at most 64 characters"):
        Scheduler(store_url, prefix=prefix)  # type: ignore[arg-type]

    Scheduler(store_url, prefix="x" * 64).close()


def test_a_scheduler_that_was_closed_opens_its_store_again(scheduler: Scheduler) -> None:
    scheduler.add_task({"id": "a"})

    scheduler.close()

    assert scheduler.require_task("a").id == "a"


def test_a_scheduler_whose_store_told_of_trouble_when_it_was_closed_opens_it_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scheduler = Scheduler(f"sqlite:///{tmp_path}/rota.db?synchronous=NORMAL")
    with no_threads():  # so that nothing is synced before the end
        scheduler.add_task({"id": "a"})

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fail_to_sync)
        with pytest.raises(StoreUnavailable, match="what was written last may be lost"):
            scheduler.close()

    assert scheduler.add_task({"id": "b"}).id == "b"
    scheduler.close()


def fail_to_sync(descriptor: int) -> None:
    raise OSError(errno.EIO, "Input/output error")


def test_a_scheduler_cleans_up_only_if_it_is_asked_to(store_url: str, scheduler: Scheduler) -> None:
    assert scheduler.cleaned is None

    with Scheduler(store_url, clean_tasks=True) as cleaning:
        assert cleaning.cleaned is not None
