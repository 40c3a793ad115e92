"""What the routes have in common: how they ask the store."""

import asyncio

import pytest

from rota.server.api import Api
from tests.patience import DEADLINE_S


def test_a_question_in_which_an_iteration_ends_too_soon_is_answered(api: Api) -> None:
    """No future carries a `StopIteration`: whoever asked would wait for ever."""

    async def scene() -> None:
        with pytest.raises(RuntimeError, match="ended too soon"):
            await asyncio.wait_for(api.in_thread(next, iter(())), DEADLINE_S)

    asyncio.run(scene())
