"""What is said of a job that is waited for and does not run: its reason, and a new one when there is another."""

import pytest

from rota.cli.jobs.why import Teller
from rota.clock import ManualClock
from rota.store import open_store
from tests.installation import Installation


def test_a_reason_is_told_after_a_while_and_only_once_until_there_is_another(
    capsys: pytest.CaptureFixture[str],
) -> None:
    store, clock = open_store("sqlite://:memory:"), ManualClock()
    installation = Installation(store, clock)
    installation.define("report")
    job = installation.job(installation.enqueue("report"))
    tell = Teller(installation.engine)

    told = []
    for wait_ms in (0, 1_999, 1, 1_000, 1_000):
        clock.advance(wait_ms)
        tell(job)
        told.append(capsys.readouterr().err)
    store.pause_queue(installation.queue)
    clock.advance(1_000)
    tell(job)
    paused = capsys.readouterr().err
    store.close()

    assert [bool(one) for one in told] == [False, False, True, False, False]
    assert "No live node" in told[2]
    assert "paused" in paused
