"""Redis reads a definition and writes it in two steps; what comes between is not lost."""

from collections.abc import Callable, Iterator

import pytest
from msgspec import structs

from rota.errors import Conflict
from rota.model.ids import new_id
from rota.model.job_type import JobType
from rota.store import Store, open_store
from tests.contract.building import NOW
from tests.servers import RedisServer


class Interrupted(list[JobType]):
    """Job types that are looked at twice by whoever puts them; somebody else acts before the second look."""

    def __init__(self, job_types: list[JobType], act: Callable[[], object]) -> None:
        super().__init__(job_types)
        self._before: list[Callable[[], object]] = [lambda: None, act]

    def __iter__(self) -> Iterator[JobType]:
        if self._before:
            self._before.pop(0)()
        return super().__iter__()


@pytest.fixture
def store(redis_server: RedisServer) -> Iterator[Store]:
    redis_server.flush()
    opened = open_store(redis_server.url)
    yield opened
    opened.close()


def test_a_change_that_comes_between_is_counted_and_not_undone_by_who_expects_the_version_before(store: Store) -> None:
    report = JobType(uuid=new_id(NOW), name="report", executor="log")
    store.put_job_types([report])
    other = structs.replace(report, timeout_ms=1)
    mine = Interrupted([structs.replace(report, timeout_ms=2)], lambda: store.put_job_types([other]))

    with pytest.raises(Conflict, match="is at version 2, not 1"):
        store.put_job_types(mine, same_version=True)

    assert store.list_job_types() == [structs.replace(other, version=2)]


def test_who_expects_no_version_writes_upon_the_one_that_came_between(store: Store) -> None:
    report = JobType(uuid=new_id(NOW), name="report", executor="log")
    store.put_job_types([report])
    other = structs.replace(report, timeout_ms=1)
    mine = Interrupted([structs.replace(report, timeout_ms=2)], lambda: store.put_job_types([other]))

    store.put_job_types(mine)

    assert store.list_job_types() == [structs.replace(report, timeout_ms=2, version=3)]
