"""Listening to the lists of waiting jobs. Only on a single Redis: no other store has these lists."""

import threading
from collections.abc import Callable
from typing import cast
from urllib.parse import urlsplit
from uuid import uuid4

import msgspec
import pytest
from msgspec import structs

from rota.dialects.synchrony.adoption import Adoption
from rota.dialects.synchrony.inlet import Inlet, ListListener
from rota.errors import StoreUnavailable
from rota.model.job import JobState
from rota.model.node import NodeType
from rota.store import Store
from rota.store.redis.link.access import RedisAccess
from rota.store.redis.store import RedisStore
from rota.testing import Faults
from tests.dialects.synchrony.speaking import Speaker
from tests.dialects.synchrony.test_adoption import JOB_TYPE, KEY, QUEUE, job_type, push
from tests.engine.working import wait_until as wait_here
from tests.servers import wait_until
from tests.system.proxy import HOST, Proxy

pytestmark = pytest.mark.stores("redis")


def test_a_connection_that_goes_dead_without_a_word_does_not_leave_an_entry_unread(
    store: Store, store_url: str
) -> None:
    speaker = Speaker(store)
    speaker.definitions.define([NodeType(uuid=QUEUE, name="default")], [job_type()])

    def has_adopted(count: int) -> bool:
        return store.count_jobs(QUEUE)[JobState.QUEUED] == count

    with Proxy(urlsplit(store_url).port or 0) as proxy:
        through = RedisStore.open(f"redis://{HOST}:{proxy.ports[0]}/0")
        listener = ListListener(through.access(), KEY, speaker.adoption)
        try:
            push(speaker, 1)
            wait_until(lambda: has_adopted(1), "somebody listens")

            proxy.freeze()
            push(speaker, 1)

            wait_until(lambda: has_adopted(2), "the entry is read")
        finally:
            listener.stop()
            through.close()


# -- who listens to what -------------------------------------------------------------------------------------------

GPU = "0190b8a4-0000-7000-8000-0000000000aa"
GPU_JOB = "0190b8a4-0000-7000-8000-0000000000bb"


def listeners() -> set[threading.Thread]:
    """Of this process. Those of a node that another test stopped may still be on their way out."""
    return {thread for thread in threading.enumerate() if thread.name == "rota-synchrony"}


def waiting_for(uuid: str) -> str:
    return f"jobs_waiting_{uuid}"


class Listening:
    """A node's inlet, driven by hand."""

    def __init__(self, store: Store, *, node_type: str = "default", everything: bool = True) -> None:
        self._others = listeners()
        self.speaker = Speaker(store, node_type=node_type)
        self.inlet = Inlet(self.speaker.access, self.speaker.context, lambda: None, everything=everything)

    def push(self, uuid: str, job_type: str = JOB_TYPE) -> None:
        """One job into the list of a node type."""
        entry = {"uuid": str(uuid4()), "job_type_uuid": job_type, "arguments": {}}
        self.speaker.access.ask("rpush", waiting_for(uuid), msgspec.json.encode(entry))

    def listeners(self) -> int:
        """How many lists this inlet listens to."""
        return len(listeners() - self._others)

    def left(self, uuid: str) -> int:
        return int(self.speaker.access.ask("llen", waiting_for(uuid)))

    def wait_until_taken(self, uuid: str) -> None:
        wait_until(lambda: self.left(uuid) == 0, "somebody to take the entry")


@pytest.fixture
def two_types(store: Store) -> Store:
    """A store with the node types `default` and `gpu`."""
    node_types = [NodeType(uuid=QUEUE, name="default"), NodeType(uuid=GPU, name="gpu")]
    gpu_job = structs.replace(job_type(), uuid=GPU_JOB, name="gpu_job", node_type="gpu")
    Speaker(store).definitions.define(node_types, [job_type(), gpu_job])
    return store


@pytest.mark.parametrize("node_type", ["gpu", GPU])
def test_a_mere_worker_listens_to_the_list_of_its_own_node_type_only(two_types: Store, node_type: str) -> None:
    here = Listening(two_types, node_type=node_type, everything=False)
    here.push(QUEUE)
    here.inlet.run_once(0)
    try:
        here.push(GPU, GPU_JOB)
        here.wait_until_taken(GPU)

        assert here.listeners() == 1
    finally:
        here.inlet.close()
    assert here.left(QUEUE) == 1


def test_a_scheduler_listens_to_every_list_once_however_often_it_looks(two_types: Store) -> None:
    here = Listening(two_types)
    try:
        for now in range(3):
            here.inlet.run_once(now)

        assert here.listeners() == 2
        here.push(QUEUE)
        here.push(GPU, GPU_JOB)
        here.wait_until_taken(QUEUE)
        here.wait_until_taken(GPU)
    finally:
        here.inlet.close()


def test_nobody_listens_to_the_list_of_a_node_type_that_is_gone(two_types: Store) -> None:
    here = Listening(two_types)
    here.inlet.run_once(0)
    try:
        two_types.delete_job_types([GPU_JOB])
        two_types.delete_node_types([GPU])
        here.inlet.run_once(1)

        assert here.listeners() == 1
        here.push(GPU, GPU_JOB)
        here.push(QUEUE)
        here.wait_until_taken(QUEUE)
        assert here.left(GPU) == 1
    finally:
        here.inlet.close()


def test_a_uuid_that_others_chose_is_listened_to_for_as_long_as_it_stands_there(two_types: Store) -> None:
    theirs = "0190b8a4-0000-7000-8000-0000000000cc"
    here = Listening(two_types, node_type="gpu", everything=False)
    here.speaker.write("node_types", "gpu", {"name": "gpu", "uuid": theirs, "thread_count": 1})
    here.inlet.run_once(0)
    try:
        here.push(theirs, GPU_JOB)
        here.wait_until_taken(theirs)
        assert here.listeners() == 2

        here.speaker.erase("node_types", "gpu")
        here.inlet.run_once(1)
        assert here.listeners() == 1
        here.push(theirs, GPU_JOB)
        here.push(GPU, GPU_JOB)
        here.wait_until_taken(GPU)
        assert here.left(theirs) == 1
    finally:
        here.inlet.close()


def test_an_inlet_that_is_closed_leaves_no_thread(two_types: Store) -> None:
    here = Listening(two_types)
    here.inlet.run_once(0)

    here.inlet.close()

    assert here.listeners() == 0


def be_away() -> None:
    raise StoreUnavailable("the store is away")


def trip() -> None:
    raise ZeroDivisionError("a fault of ours")


@pytest.mark.parametrize("fault", [be_away, trip])
def test_what_goes_wrong_for_a_moment_ends_no_listening_and_loses_no_entry(
    two_types: Store, caplog: pytest.LogCaptureFixture, fault: Callable[[], None]
) -> None:
    speaker = Speaker(two_types)
    faults = Faults(speaker.access)
    adoption = Adoption(cast(RedisAccess, faults), speaker.engine, lambda: None)
    faults.before("run", fault, fault)
    listener = ListListener(speaker.access, KEY, adoption)
    try:
        push(speaker, 1)
        wait_here(lambda: two_types.count_jobs(QUEUE)[JobState.QUEUED] == 1, "the entry to be adopted")
    finally:
        listener.stop()

    assert faults.calls.count("run") == 3
    said = [record for record in caplog.records if record.message == "a list of waiting jobs cannot be read"]
    assert len(said) == 1, "the same trouble is told once"
    assert speaker.access.ask("llen", "rota:synchrony:dead") == 0
