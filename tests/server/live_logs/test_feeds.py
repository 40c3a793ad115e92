"""How often feeds look at the store: a line is soon on its page, and many feeds cost no more than a hundred."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from rota.server.live_logs.feeds import LogFeeds, longest_pause_s
from rota.store import Store
from tests.contract.building import claim_one, enqueue, finish, log_batch, new_queue, spec, succeed


@pytest.mark.stores("sqlite-memory")
def test_followers_who_are_up_to_date_share_what_one_look_found(store: Store) -> None:
    queue, asked = new_queue(), set()
    enqueue(store, spec(queue))
    held = claim_one(store, queue)

    async def in_thread(call: Callable[..., Any], *args: object) -> Any:
        asked.add(call.__name__)
        return await asyncio.to_thread(call, *args)

    async def follow(feeds: LogFeeds) -> list[str]:
        given = feeds.follow(held.spec.id, after=0, idle_s=60)
        return [line.entry.message async for lines in given for line in lines or []]

    async def follow_by_many() -> list[list[str]]:
        feeds = LogFeeds(store, in_thread)
        followers = [asyncio.create_task(follow(feeds)) for _ in range(5)]
        await asyncio.sleep(0)  # all of them begin
        assert feeds.followers == len(followers)
        await asyncio.to_thread(store.append_logs, [log_batch(held, "one", "two")])
        await asyncio.to_thread(finish, store, succeed(held))
        return await asyncio.gather(*followers)

    assert asyncio.run(follow_by_many()) == [["one", "two"]] * 5
    assert asked == {"_look"}, "nobody had to read the store alone"


@pytest.mark.parametrize(("feeds", "pause_s"), [(1, 0.1), (100, 0.1), (200, 0.2), (3_000, 3.0)])
def test_all_feeds_together_look_no_more_than_a_thousand_times_a_second(feeds: int, pause_s: float) -> None:
    assert longest_pause_s(feeds) == pause_s
