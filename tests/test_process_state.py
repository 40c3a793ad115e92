"""Whoever leaves the process changed for the next test is told what."""

import logging
import signal
import time
from pathlib import Path

import pytest

from tests.process_state import ProcessState


def test_every_change_of_the_process_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before, heard, folder = ProcessState.now(), signal.getsignal(signal.SIGUSR2), Path.cwd()
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "Asia/Tokyo")
        patch.chdir(tmp_path)
        time.tzset()
        signal.signal(signal.SIGUSR2, signal.SIG_IGN)
        logging.disable(logging.ERROR)
        changes = ProcessState.now().changes_since(before)
    time.tzset()
    signal.signal(signal.SIGUSR2, heard)
    logging.disable(logging.NOTSET)

    assert [change.partition(": ")[0] for change in changes] == list(ProcessState._fields)
    assert changes[0].startswith("variables: TZ was ")
    assert changes[0].endswith(" and is 'Asia/Tokyo'")
    assert changes[1] == f"folder: was {folder!r} and is {tmp_path!r}"
    assert ProcessState.now().changes_since(before) == []
