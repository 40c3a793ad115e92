"""Calls in threads of the loop, for parts of a process that go on without one and try again."""

import asyncio
from collections.abc import Callable
from typing import TypeVar, TypeVarTuple

from rota.engine.executors.shortage import raise_if_short

Answer = TypeVar("Answer")
Arguments = TypeVarTuple("Arguments")


async def call_in_thread(function: Callable[[*Arguments], Answer], *arguments: *Arguments) -> Answer:
    """As `asyncio.to_thread`; `NodeStrained` when there is no room for a thread."""
    try:
        return await asyncio.to_thread(function, *arguments)
    except (RuntimeError, MemoryError) as error:
        raise_if_short(error)
        raise
