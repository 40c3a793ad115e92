"""Files as events: what the event of a file is, and which files are told."""

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from rota.engine.events.file_source import check_directories, existing_files, file_event, new_files
from rota.errors import InvalidInput
from rota.store import Store
from tests.engine.events.installation import NOW, EventsInstallation, needs
from tests.patience import DEADLINE_S

CHANGED_NS = 1_609_502_400_123_456_789


def file_at(path: Path, changed_ns: int = CHANGED_NS) -> Path:
    path.write_text("x")
    os.utime(path, ns=(changed_ns, changed_ns))
    return path


def test_the_event_of_a_file_bears_its_path_and_the_time_of_its_last_change(tmp_path: Path) -> None:
    path = file_at(tmp_path / "a.csv")

    event = file_event(path, NOW)

    assert event is not None
    assert (event.type, event.resource, event.time) == ("FILE", str(path), 1_609_502_400_123_456)
    assert (event.received_at, event.has_own_id) == (NOW, True)


def test_a_file_that_changed_in_the_future_is_one_of_now(tmp_path: Path) -> None:
    event = file_event(file_at(tmp_path / "a", 4_102_444_800 * 10**9), NOW)

    assert event is not None
    assert event.time == NOW * 1_000 + 999


def test_a_file_that_is_gone_or_has_an_odd_name_is_no_event(tmp_path: Path) -> None:
    assert file_event(tmp_path / "gone", NOW) is None
    assert file_event(file_at(tmp_path / "line\nbreak"), NOW) is None


@pytest.mark.stores("sqlite-file")  # the stores are told apart elsewhere
def test_a_file_that_is_told_twice_counts_once_and_one_that_changed_counts_again(store: Store, tmp_path: Path) -> None:
    installation = EventsInstallation(store)
    path = file_at(tmp_path / "a")
    installation.define_configuration("c", needs("FILE", str(path), 0))

    made = []
    for changed_ns in (CHANGED_NS, CHANGED_NS, CHANGED_NS + 1_000):
        event = file_event(file_at(path, changed_ns), installation.clock.advance(1_000))
        assert event is not None
        made.append(len(installation.events.post([event]).triggered))

    assert made == [1, 0, 1]


def test_two_files_that_changed_at_once_are_two_events_however_long_their_names_are(tmp_path: Path) -> None:
    folder = tmp_path / ("d" * 200)
    folder.mkdir()
    names = ["n" * 200 + end for end in ("1", "2")]

    events = [file_event(file_at(folder / name), NOW) for name in names]

    ids = [event.id for event in events if event]
    assert len(set(ids)) == 2
    assert all(len(one) <= 256 for one in ids)


def test_files_that_are_there_already_are_told_oldest_first(tmp_path: Path) -> None:
    below = tmp_path / "below"
    below.mkdir()
    first, second, third = (
        file_at(path, CHANGED_NS + n) for n, path in enumerate((tmp_path / "z", below / "y", tmp_path / "a"))
    )

    assert existing_files([tmp_path, below]) == [first, second, third]


def test_only_directories_that_are_there_can_be_watched(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()

    assert check_directories([tmp_path / "below" / ".."]) == [tmp_path]
    with pytest.raises(InvalidInput, match="is not a directory"):
        check_directories([tmp_path, tmp_path / "gone"])
    with pytest.raises(InvalidInput, match="is not a directory"):
        check_directories([file_at(tmp_path / "file")])


@pytest.fixture
def stopping() -> Iterator[threading.Event]:
    """Set in the end, or when nothing comes."""
    stopping = threading.Event()
    guard = threading.Timer(DEADLINE_S, stopping.set)
    guard.start()
    yield stopping
    guard.cancel()
    stopping.set()


def test_what_comes_after_watching_has_begun_is_told(tmp_path: Path, stopping: threading.Event) -> None:
    pytest.importorskip("watchfiles")
    found = new_files([tmp_path], stopping)
    assert next(found) == []

    path = file_at(tmp_path / "a.csv")

    assert next(found) == [path]


def test_of_a_directory_that_is_moved_in_its_files_are_told(tmp_path: Path, stopping: threading.Event) -> None:
    pytest.importorskip("watchfiles")
    inbox, batch = tmp_path / "inbox", tmp_path / "batch"
    inbox.mkdir()
    (batch / "deep").mkdir(parents=True)
    file_at(batch / "a.csv")
    file_at(batch / "deep" / "b.csv", CHANGED_NS + 1)
    found = new_files([inbox], stopping)
    next(found)

    batch.rename(inbox / "batch")

    assert next(found) == [inbox / "batch" / "a.csv", inbox / "batch" / "deep" / "b.csv"]
