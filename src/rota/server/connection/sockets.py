"""What the kernel knows of connections, and nobody has told us. It says so of many at once, in microseconds.

While a request waits behind another, uvicorn reads nothing of its connection, so nobody hears that the client ended it:
the kernel keeps it in CLOSE-WAIT, its requests are worked on one after another, and it counts as busy. And a loop that
takes many connections in one turn, or does anything else meanwhile, has not read what their clients have sent.
"""

import select
from collections.abc import Iterable
from typing import Any

_ENDED = getattr(select, "POLLRDHUP", 0)
"""The client will send no more. Where a system has no word for that, it still says which connections are broken."""
_READABLE = getattr(select, "POLLIN", 0)


def gone_clients(transports: Iterable[Any]) -> list[Any]:
    """Those of these transports at whose other end nobody is, whatever there is to read before their end."""
    return _polled(transports, _ENDED)


def unread_clients(transports: Iterable[Any]) -> list[Any]:
    """Those of these transports whose clients have sent something that the loop has not read yet."""
    return _polled(transports, _READABLE)


def _polled(transports: Iterable[Any], event: int) -> list[Any]:
    if not hasattr(select, "poll"):
        return []
    poll, by_descriptor = select.poll(), {}
    for one in transports:
        # One with TLS has no socket any more when it has ended and its protocol is about to hear of that.
        known = one.get_extra_info("socket")
        descriptor = -1 if known is None else known.fileno()
        if descriptor >= 0:
            by_descriptor[descriptor] = one
            poll.register(descriptor, event)
    return [by_descriptor[descriptor] for descriptor, _ in poll.poll(0)]
