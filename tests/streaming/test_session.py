"""How long a dead instance's partitions are without an owner, and what is told when the brokers do not agree."""

import pytest
from msgspec import structs

from rota.streaming.options import session_within
from tests.servers import wait_until
from tests.streaming.kafka import Kafka


@pytest.mark.parametrize(
    ("timeout_s", "session_s"), [(1, 0.5), (2, 1), (4, 3), (6, 4.8), (7.5, 6), (10, 8), (15, 12), (30, 27), (300, 297)]
)
def test_the_session_leaves_time_for_a_take_over(timeout_s: float, session_s: float) -> None:
    assert session_within(timeout_s) == pytest.approx(session_s)


def test_a_session_that_the_brokers_do_not_take_is_told_with_what_to_do(kafka: Kafka) -> None:
    kafka.options = structs.replace(kafka.options, session_timeout_s=1.0)  # theirs is a second at least

    instance = kafka.start()

    words = ("no session of 0.5 s", "kafka.session_timeout_s of 1 makes", "group.min.session.timeout.ms")
    wait_until(lambda: all(word in (instance.trouble or "") for word in words), "the trouble")
