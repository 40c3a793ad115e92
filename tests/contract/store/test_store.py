"""What a store says of itself: its address, its clock, its problems and troubles; and its end.

Each kind of store has its own troubles, which are tested with real ones.
"""

import time

from rota.store import Store
from tests.conftest import OpenStore
from tests.contract.building import claim_one, enqueue, finish, new_queue, spec, succeed

PROBLEMS = {
    "sqlite-file": [],
    "sqlite-memory": ["in memory"],
    "redis": ["nothing is persisted"],
    "redis-cluster": ["no append-only file"],
}
"""What the stores of the tests do not keep, and what the sentence that says so has in it."""


def test_the_store_names_its_address(store: Store, store_url: str) -> None:
    assert store.url == store_url


def test_a_reopened_store_is_the_same_one_by_another_handle(store: Store) -> None:
    store.put_setting("colour", "red")

    other = store.reopen()
    seen = other.get_setting("colour")
    other.put_setting("colour", "blue")
    other.close()

    assert (seen, other.url) == ("red", store.url)
    assert store.get_setting("colour") == "blue"


def test_the_clock_of_the_store_is_the_time_in_milliseconds(store: Store) -> None:
    before = time.time_ns() // 1_000_000
    now = store.now()
    after = time.time_ns() // 1_000_000

    # The store may round, and its server's clock is this machine's.
    assert before - 1 <= now <= after + 1


def test_problems_are_sentences_about_what_is_not_kept(store: Store, store_kind: str) -> None:
    problems = store.problems()

    assert len(problems) == len(PROBLEMS[store_kind])
    assert all(part in problem for part, problem in zip(PROBLEMS[store_kind], problems, strict=True))
    assert all(problem.strip() == problem and " " in problem for problem in problems)


def test_closing_one_handle_leaves_the_others(store: Store, open_again: OpenStore) -> None:
    other = open_again()
    other.put_setting("name", "value")

    other.close()

    assert store.get_setting("name") == "value"


def test_a_store_that_is_well_has_no_troubles(store: Store) -> None:
    queue = new_queue()
    enqueue(store, spec(queue))
    finish(store, succeed(claim_one(store, queue)))

    assert store.troubles() == []
