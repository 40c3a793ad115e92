"""Listening to the lists of waiting jobs. Only on a single Redis: no other store has these lists."""

from urllib.parse import urlsplit

import pytest

from rota.dialects.synchrony.inlet import ListListener
from rota.model.job import JobState
from rota.model.node import NodeType
from rota.store import Store
from rota.store.redis.store import RedisStore
from tests.dialects.synchrony.speaking import Speaker
from tests.dialects.synchrony.test_adoption import KEY, QUEUE, job_type, push
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

            wait_until(lambda: has_adopted(2), "the entry is read", deadline_s=60)
        finally:
            listener.stop()
            through.close()
