"""Drives a duty that is to be on time, although one of the places that it looks at may hang."""

import asyncio
import random
from collections.abc import Callable

from rota.engine.bridge.store_thread import StoreThread
from rota.engine.node.duty import Duty, PromptDuty

_LATE_S = 1.5
"""A round that takes longer may be stuck."""


class PromptDriver:
    """Of one duty, in a thread of its own. One that is stuck is left to the place that hangs."""

    def __init__(self, duty: PromptDuty, name: str, *, do_round: Callable[[Duty], float]) -> None:
        self._duty = duty
        self._name = name
        self._do_round = do_round
        self._thread = StoreThread(name)

    async def drive(self) -> None:
        """Run the duty for ever. Rounds of many nodes are spread by chance."""
        await asyncio.sleep(random.random())
        while True:
            wait_s = await self._round()
            await asyncio.sleep(wait_s)

    async def _round(self) -> float:
        """How many seconds the next one can wait: none if this one is stuck."""
        round = asyncio.ensure_future(self._thread.call(lambda: self._do_round(self._duty)))
        while not (await asyncio.wait({round}, timeout=_LATE_S))[0]:
            if self._duty.is_stuck:
                self._thread.retire()
                self._thread = StoreThread(self._name)
                return 0.0
        return round.result()

    async def end(self) -> None:
        """End the duty, also where it is stuck, as long as that makes sense."""
        ending = StoreThread(self._name)
        ending.post(self._duty.end)
        await asyncio.gather(ending.end(), self._thread.end())
