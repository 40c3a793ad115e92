"""What the routes have in common: how they ask the store."""

import asyncio

import pytest

from rota.server.api import Api, ServerOptions
from tests.patience import DEADLINE_S


def test_a_question_in_which_an_iteration_ends_too_soon_is_answered(api: Api) -> None:
    """No future carries a `StopIteration`: whoever asked would wait for ever."""

    async def scene() -> None:
        with pytest.raises(RuntimeError, match="ended too soon"):
            await asyncio.wait_for(api.in_thread(next, iter(())), DEADLINE_S)

    asyncio.run(scene())


def test_a_server_that_is_told_nothing_allows_what_the_document_says() -> None:
    """`docs/security.md` names these bounds."""
    options = ServerOptions()

    assert (options.rate_limit, options.wrong_keys_per_s) == (20_000, 5)
    assert (options.max_followers, options.max_followers_per_key) == (500, 300)
    assert not options.metrics_open
    assert (options.bound_to, options.allowed_hosts, options.trusted_proxies) == ((), (), ())
