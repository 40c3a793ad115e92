"""Every test that runs something does so on both event loops."""

import asyncio
from collections.abc import Iterator

import pytest


@pytest.fixture(params=["asyncio", "uvloop"])
def runner(request: pytest.FixtureRequest) -> Iterator[asyncio.Runner]:
    """`runner.run(coroutine)`, with the loop closed at the end of the test."""
    factory = asyncio.new_event_loop
    if request.param == "uvloop":
        factory = pytest.importorskip("uvloop").new_event_loop
    with asyncio.Runner(loop_factory=factory) as runner:
        yield runner
