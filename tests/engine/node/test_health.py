"""A node's health: everything that is wrong, told once in the log and as long as it lasts to whoever asks."""

import logging

import pytest

from rota.engine.node.health import Asker, Health
from rota.errors import StoreUnavailable


def told(caplog: pytest.LogCaptureFixture) -> list[tuple[str, object]]:
    """What was logged, and of which trouble."""
    return [(record.message, getattr(record, "trouble", None)) for record in caplog.records]


def test_all_is_well_until_somebody_reports_trouble() -> None:
    health = Health()

    health.report("store", [])

    assert health.trouble is None


def test_everything_that_is_wrong_is_told_whoever_found_it() -> None:
    health = Health()

    health.store_failed("worker", StoreUnavailable("it is away"))
    health.report("store", ["the disk is full", "a sync failed"])
    health.report("node", ["no more descriptors"])

    assert health.trouble == ("store unavailable: it is away; the disk is full; a sync failed; no more descriptors")


@pytest.mark.parametrize(
    ("one", "other"), [("worker", "heart"), ("heart", "worker"), ("a duty", "worker"), ("a duty", "another duty")]
)
def test_a_store_that_answers_one_asker_only_is_not_well_until_it_answers_the_other(
    one: Asker, other: Asker, caplog: pytest.LogCaptureFixture
) -> None:
    """This is no news with every beat."""
    health, seen = Health(), list[str | None]()

    with caplog.at_level(logging.INFO, "rota.node"):
        for _ in range(3):
            health.store_failed(one, StoreUnavailable("no room"))
            health.store_answered(other)
            seen.append(health.trouble)
        health.store_answered(one)

    assert (seen, health.trouble) == (["store unavailable: no room"] * 3, None)
    assert [message for message, _ in told(caplog)] == ["store unavailable, trying again", "store available again"]


def test_what_is_over_is_told_no_more() -> None:
    health = Health()
    health.report("store", ["the disk is full"])
    health.report("node", ["no more descriptors"])

    health.report("store", [])

    assert health.trouble == "no more descriptors"


def test_trouble_is_logged_when_it_begins_and_when_it_is_over(caplog: pytest.LogCaptureFixture) -> None:
    health = Health()

    with caplog.at_level(logging.INFO, "rota.node"):
        health.report("store", ["the log has 300 MiB"])
        health.report("store", ["the log has 301 MiB"])
        health.report("store", ["the log has 302 MiB", "the disk is full"])
        health.report("store", [])
        health.report("store", [])

    assert told(caplog) == [
        ("trouble", "the log has 300 MiB"),
        ("trouble", "the disk is full"),
        ("trouble is over", None),
    ]
