"""Logs: written only by the holder of a job, read by anyone, in order."""

from msgspec.structs import replace

from rota.model.ids import new_id
from rota.model.job import JobState
from rota.model.runs.log import LogEntry
from rota.model.runs.progress import Progress
from rota.store import Store
from rota.store.contract.logs import LogBatch
from tests.conftest import OpenStore
from tests.contract.building import (
    NOW,
    claim,
    claim_all,
    claim_one,
    enqueue,
    fail,
    fail_and_retry,
    find,
    finish,
    interrupt,
    log_batch,
    messages_of,
    new_node,
    new_queue,
    spec,
    succeed,
    token_of,
)


def test_a_job_that_said_nothing_has_no_lines(store: Store) -> None:
    (job_id,) = enqueue(store, spec(new_queue()))

    page = store.read_logs(job_id)

    assert (page.entries, page.next) == ([], 0)


def test_unknown_jobs_have_no_lines(store: Store) -> None:
    page = store.read_logs(new_id(NOW))

    assert (page.entries, page.next) == ([], 0)


def test_lines_come_back_as_they_were_written(store: Store) -> None:
    queue = new_queue()
    enqueue(store, spec(queue))
    claimed = claim_one(store, queue)
    entries = [
        LogEntry(NOW, "plain"),
        LogEntry(NOW - 5, "", "error", 3),
        LogEntry(NOW + 1, 'é 語 \U0001f600 "quoted" \\ \n \x00 \x1b[31m', "warning"),
        LogEntry(NOW, "x" * 16_384, "debug"),
    ]

    refused = store.append_logs([LogBatch(queue, claimed.spec.id, claimed.token, entries)])

    assert refused == frozenset()
    assert store.read_logs(claimed.spec.id).entries == entries


def test_lines_are_read_oldest_first(store: Store) -> None:
    queue = new_queue()
    enqueue(store, spec(queue))
    claimed = claim_one(store, queue)

    store.append_logs([log_batch(claimed, "1", "2"), log_batch(claimed, "3")])
    store.append_logs([log_batch(claimed, "4")])

    assert messages_of(store, claimed.spec.id) == ["1", "2", "3", "4"]


def test_a_reader_goes_on_where_it_stopped(store: Store) -> None:
    queue = new_queue()
    enqueue(store, spec(queue))
    claimed = claim_one(store, queue)
    lines = [str(number) for number in range(10)]
    store.append_logs([log_batch(claimed, *lines)])

    read: list[str] = []
    after = 0
    while page := store.read_logs(claimed.spec.id, after=after, limit=3):
        if not page.entries:
            break
        assert len(page.entries) <= 3
        assert page.next > after
        read += [entry.message for entry in page.entries]
        after = page.next

    assert read == lines
    assert page.next == after


def test_a_reader_at_the_end_sees_only_what_comes_after(store: Store) -> None:
    queue = new_queue()
    enqueue(store, spec(queue))
    claimed = claim_one(store, queue)
    store.append_logs([log_batch(claimed, "old")])
    end = store.read_logs(claimed.spec.id).next

    quiet = store.read_logs(claimed.spec.id, after=end)
    store.append_logs([log_batch(claimed, "new")])

    assert (quiet.entries, quiet.next) == ([], end)
    assert [entry.message for entry in store.read_logs(claimed.spec.id, after=end).entries] == ["new"]


def test_lines_of_all_attempts_are_kept(store: Store) -> None:
    queue = new_queue()
    enqueue(store, spec(queue))
    first = claim_one(store, queue)
    store.append_logs([log_batch(first, "first")])
    finish(store, fail_and_retry(first))
    second = claim_one(store, queue, now=NOW + 1_000)
    store.append_logs([log_batch(second, "second")])
    finish(store, succeed(second, NOW + 1_000), now=NOW + 1_000)

    entries = store.read_logs(first.spec.id).entries

    assert [(entry.message, entry.attempt) for entry in entries] == [("first", 1), ("second", 2)]


def test_lines_of_different_jobs_do_not_mix(store: Store) -> None:
    queue, other = new_queue(), new_queue()
    enqueue(store, spec(queue), spec(queue), spec(other))
    a, b = claim(store, queue)
    c = claim_one(store, other)

    store.append_logs([log_batch(a, "a1"), log_batch(c, "c1"), log_batch(b, "b1"), log_batch(a, "a2")])

    assert messages_of(store, a.spec.id) == ["a1", "a2"]
    assert messages_of(store, b.spec.id) == ["b1"]
    assert messages_of(store, c.spec.id) == ["c1"]


def test_a_stale_token_cannot_write(store: Store) -> None:
    queue = new_queue()
    enqueue(store, spec(queue), spec(queue), spec(queue))
    ended, returned, taken = claim(store, queue)
    finish(store, interrupt(taken))
    heir = claim_one(store, queue)
    finish(store, succeed(ended), interrupt(returned))

    refused = store.append_logs([log_batch(each, "late") for each in (ended, returned, taken)])

    assert heir.spec.id == taken.spec.id
    assert refused == {ended.spec.id, returned.spec.id, taken.spec.id}
    assert [messages_of(store, each.spec.id) for each in (ended, returned, taken)] == [[], [], []]


def test_a_token_that_never_held_the_job_cannot_write(store: Store) -> None:
    queue = new_queue()
    queued, unknown = spec(queue), new_id(NOW)
    enqueue(store, queued)
    token, line = token_of(new_node()), [LogEntry(NOW, "forged")]

    refused = store.append_logs([LogBatch(queue, queued.id, token, line), LogBatch(queue, unknown, token, line)])

    assert refused == {queued.id, unknown}
    assert messages_of(store, queued.id) == []
    assert messages_of(store, unknown) == []


def test_a_refused_batch_does_not_stop_the_others(store: Store) -> None:
    queue = new_queue()
    enqueue(store, spec(queue), spec(queue))
    stale, held = claim(store, queue)
    finish(store, succeed(stale))

    refused = store.append_logs([log_batch(stale, "late"), log_batch(held, "in time")])

    assert refused == {stale.spec.id}
    assert messages_of(store, held.spec.id) == ["in time"]


def test_the_log_of_an_ended_job_can_be_read(store: Store) -> None:
    queue = new_queue()
    enqueue(store, spec(queue))
    claimed = claim_one(store, queue)
    store.append_logs([log_batch(claimed, "line")])

    finish(store, succeed(claimed))

    assert messages_of(store, claimed.spec.id) == ["line"]


def test_many_lines_are_written_in_one_call(store: Store) -> None:
    queue = new_queue()
    enqueue(store, spec(queue))
    claimed = claim_one(store, queue)
    lines = [f"line {number}" for number in range(9_000)]

    store.append_logs([log_batch(claimed, *lines)])

    assert [entry.message for entry in store.read_logs(claimed.spec.id, limit=10_000).entries] == lines
    for after in (0, 1, 999, 1_000, 1_001, 8_999):
        page = store.read_logs(claimed.spec.id, after=after, limit=1_001)
        assert [entry.message for entry in page.entries] == lines[after : after + 1_001]
        assert page.next == min(after + 1_001, 9_000)


def test_lines_are_counted(store: Store) -> None:
    queue = new_queue()
    enqueue(store, spec(queue))
    claimed = claim_one(store, queue)
    assert store.count_logs(claimed.spec.id) == 0

    store.append_logs([log_batch(claimed, *(f"line {number}" for number in range(1_200)))])
    store.append_logs([log_batch(claimed, "one more")])

    assert store.count_logs(claimed.spec.id) == 1_201
    assert store.count_logs(new_id(NOW)) == 0


def test_long_lines_that_are_written_in_one_call_stay_whole(store: Store) -> None:
    queue = new_queue()
    enqueue(store, spec(queue))
    claimed = claim_one(store, queue)
    lines = [f"{number} {'x' * 16_000}" for number in range(40)] + ["short", "y" * 1_000_000, "last"]

    store.append_logs([log_batch(claimed, *lines)])

    assert messages_of(store, claimed.spec.id) == lines
    assert [entry.message for entry in store.read_logs(claimed.spec.id, after=39, limit=3).entries] == lines[39:42]


def test_a_long_line_may_come_first(store: Store) -> None:
    queue = new_queue()
    enqueue(store, spec(queue))
    claimed = claim_one(store, queue)
    lines = ["x" * 200_000, "short", "y" * 200_000]

    assert store.append_logs([log_batch(claimed, *lines)]) == frozenset()

    assert messages_of(store, claimed.spec.id) == lines


def test_the_log_of_an_ended_job_can_be_forgotten_without_the_job(store: Store) -> None:
    queue = new_queue()
    enqueue(store, spec(queue), spec(queue))
    ended, running = claim_all(store, queue)
    store.append_logs([log_batch(ended, *("line" for _ in range(3_000))), log_batch(running, "line")])
    finish(store, succeed(ended))

    done = store.delete_logs([ended.spec.id, running.spec.id, new_id(NOW)])

    assert done == [True, False, False]
    assert messages_of(store, ended.spec.id) == []
    assert store.count_logs(ended.spec.id) == 0
    assert find(store, ended.spec.id).state is JobState.SUCCEEDED
    assert messages_of(store, running.spec.id) == ["line"]
    assert store.delete_logs([ended.spec.id]) == [True], "there is nothing left to forget"
    assert store.delete_logs([]) == []


def test_a_job_that_is_tried_again_writes_a_new_log(store: Store) -> None:
    queue = new_queue()
    enqueue(store, spec(queue))
    first = claim_one(store, queue)
    store.append_logs([log_batch(first, "old")])
    finish(store, fail(first))
    store.delete_logs([first.spec.id])
    store.retry_jobs([first.spec.id], now=NOW)

    store.append_logs([log_batch(claim_one(store, queue), "new")])

    assert messages_of(store, first.spec.id) == ["new"]
    assert store.delete_logs([first.spec.id]) == [False]


def test_writing_nothing_refuses_nothing(store: Store) -> None:
    queue = new_queue()
    enqueue(store, spec(queue))
    claimed = claim_one(store, queue)

    assert store.append_logs([]) == frozenset()
    assert store.append_logs([log_batch(claimed)]) == frozenset()
    assert messages_of(store, claimed.spec.id) == []


def test_lines_are_read_through_every_handle(store: Store, open_again: OpenStore) -> None:
    queue = new_queue()
    other = open_again()
    enqueue(store, spec(queue))
    claimed = claim_one(store, queue)

    store.append_logs([log_batch(claimed, "line")])

    assert messages_of(other, claimed.spec.id) == ["line"]


def test_the_latest_progress_of_a_job_is_kept_with_its_log(store: Store) -> None:
    queue = new_queue()
    enqueue(store, spec(queue), spec(queue))
    claimed, silent = claim_all(store, queue)
    half = Progress(done=1, total=2, message="é half", time=NOW, attempt=1)

    store.append_logs([replace(log_batch(claimed), progress=Progress(done=0, time=NOW))])
    store.append_logs([replace(log_batch(claimed, "one"), progress=half), log_batch(silent, "two")])
    store.append_logs([log_batch(claimed, "three")])

    assert store.read_progress(queue, [claimed.spec.id, silent.spec.id, new_id(NOW)]) == {claimed.spec.id: half}
    assert messages_of(store, claimed.spec.id) == ["one", "three"]
    finish(store, succeed(claimed))
    assert store.read_progress(queue, [claimed.spec.id]) == {claimed.spec.id: half}
    assert store.read_progress(queue, []) == {}


def test_a_stale_token_cannot_say_how_far_a_job_is(store: Store) -> None:
    queue = new_queue()
    enqueue(store, spec(queue))
    claimed = claim_one(store, queue)
    finish(store, fail_and_retry(claimed))

    refused = store.append_logs([replace(log_batch(claimed), progress=Progress(done=1, time=NOW))])

    assert refused == {claimed.spec.id}
    assert store.read_progress(queue, [claimed.spec.id]) == {}


def test_the_progress_of_a_job_is_forgotten_with_its_log(store: Store) -> None:
    queue = new_queue()
    enqueue(store, spec(queue), spec(queue))
    ended, running = claim_all(store, queue)
    progress = Progress(done=1, time=NOW)
    store.append_logs([replace(log_batch(one, "line"), progress=progress) for one in (ended, running)])
    finish(store, succeed(ended))

    store.delete_logs([ended.spec.id, running.spec.id])

    assert store.read_progress(queue, [ended.spec.id, running.spec.id]) == {running.spec.id: progress}


def test_the_progress_of_a_deleted_job_is_forgotten(store: Store) -> None:
    queue = new_queue()
    enqueue(store, spec(queue))
    claimed = claim_one(store, queue)
    store.append_logs([replace(log_batch(claimed), progress=Progress(done=1, time=NOW))])
    finish(store, succeed(claimed))

    store.delete_jobs([claimed.spec.id])

    assert store.read_progress(queue, [claimed.spec.id]) == {}
