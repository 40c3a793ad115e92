"""When the ends of jobs are told."""

import asyncio

from rota.engine.worker.telling import Telling


def test_ends_wait_a_moment_for_others_while_there_is_more_to_run() -> None:
    async def scenario() -> None:
        due = asyncio.Event()
        telling = Telling(on_due=due.set)

        assert not telling.may_wait(has_more=False)
        assert telling.may_wait(has_more=True)
        await due.wait()
        assert not telling.may_wait(has_more=True)

        telling.told()
        assert telling.may_wait(has_more=True)
        telling.told()

    asyncio.run(scenario())
