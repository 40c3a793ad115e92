"""Calls of scripts in Redis's wire format.

A call has some seven arguments for each of its jobs. redis-py looks at every one of them in Python before it has them
packed, which costs as much as the packing itself; what the store gives is text, bytes and numbers, and needs no look.
"""

from contextlib import suppress
from typing import Any

from redis.connection import HiredisRespSerializer
from redis.utils import HIREDIS_AVAILABLE

with suppress(ImportError):  # without it redis-py packs by itself
    import hiredis


class CommandPacker(HiredisRespSerializer):
    """redis-py's own, but for scripts."""

    def pack(self, *args: Any) -> list[bytes]:
        if args[0] == "EVALSHA":
            try:
                return [hiredis.pack_command(args)]
            except TypeError:
                pass  # something else is among them: redis-py carries it, or says what is wrong with it
        return list(super().pack(*args))


def pack_quickly(client: Any) -> None:
    """Have a client, not of a cluster, that has no connection yet pack its calls this way."""
    if HIREDIS_AVAILABLE:
        client.connection_pool.connection_kwargs["command_packer"] = CommandPacker()
