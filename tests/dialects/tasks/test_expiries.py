"""What Redis must be told so that it tells of expired keys."""

import pytest

from rota.dialects.tasks.redis.expiries import flags_suffice
from rota.dialects.tasks.redis.keys import Keys


@pytest.mark.parametrize(
    ("flags", "is_enough"),
    [
        ("KEA", True),
        ("AKE", True),
        ("xKE", True),
        ("Ex", True),
        ("Kx", False),
        ("KE", False),
        ("A", False),
        ("", False),
    ],
)
def test_events_of_keys_and_of_expiries_are_needed(flags: str, is_enough: bool) -> None:
    assert flags_suffice(flags) is is_enough


@pytest.mark.parametrize("prefix", ["", "scheduler:", "a*b?[c]"])
def test_a_key_is_taken_for_the_task_whose_it_is(prefix: str) -> None:
    keys = Keys(prefix)

    assert keys.id_of_task(keys.task("a:b")) == "a:b"
    assert keys.id_of_ttl(keys.ttl("a:b")) == "a:b"
    assert keys.id_of_task(keys.ttl("a")) is None
    assert keys.id_of_ttl(keys.task("a")) is None
    assert keys.id_of_task("other:thing") is None
