"""Connections whose client has gone.

While a request waits behind another, uvicorn reads nothing of its connection, so nobody hears that the client ended it:
the kernel keeps it in CLOSE-WAIT, its requests are worked on one after another, and it counts as busy. The kernel says
of many at once which they are, in microseconds, whatever there is to read before their end.
"""

import select
from collections.abc import Iterable
from typing import Any

_ENDED = getattr(select, "POLLRDHUP", 0)
"""The client will send no more. Where a system has no word for that, it still says which connections are broken."""


def gone_clients(transports: Iterable[Any]) -> list[Any]:
    """Those of these transports at whose other end nobody is."""
    if not hasattr(select, "poll"):
        return []
    poll, by_descriptor = select.poll(), {}
    for one in transports:
        # One with TLS has no socket any more when it has ended and its protocol is about to hear of that.
        known = one.get_extra_info("socket")
        descriptor = -1 if known is None else known.fileno()
        if descriptor >= 0:
            by_descriptor[descriptor] = one
            poll.register(descriptor, _ENDED)
    return [by_descriptor[descriptor] for descriptor, _ in poll.poll(0)]
