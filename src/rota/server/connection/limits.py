"""What one connection may do, and how many there may be. No proper client comes near any of these."""

import sys

MAX_URL = 16 * 1024
MAX_HEAD = 64 * 1024
"""Bytes of the request line and all headers."""
MAX_HEADERS = 128
MAX_WAITING = 16
"""Requests on one connection that wait for the answer to an earlier one."""
LEAST_PIECE = 64
MAX_CRUMBS = 1024
"""A body in more pieces than this has pieces of `LEAST_PIECE` bytes on average. Each piece takes a microsecond of the
loop, whether anybody wants it or not."""
MAX_TURN = 64 * 1024
"""Bytes of one connection after which others have a turn."""
MAX_UNWANTED = 64 * 1024 * 1024
"""Bytes of a body that is still being sent after it was refused. They are thrown away: if the connection ended at once,
most clients would hear of that and not of the refusal."""

HEAD_S = 10.0
"""For the head of a request, and for the first one to begin."""
BODY_S = 20.0
SLOWEST_BODY_PER_S = 16 * 1024
"""A body may take `BODY_S`, and longer as long as it comes at this rate."""
UNREAD_S = 60.0
"""After this long a client that reads nothing of its answer is let go."""

MAX_CONNECTIONS = 1_000
ENDED_OF_ALL = 50
"""One of so many ends, if it is idle, when there is one connection too many."""


def most_handshakes(connections: int) -> int:
    """Connections of a server with TLS whose handshake is not over, beside those that it has."""
    return max(1, connections // 4)


def most_connections(wanted: int) -> int:
    """As many as are wanted, but never more than half the descriptors of this process: jobs need them too."""
    if sys.platform == "win32":
        return wanted
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return wanted if soft == resource.RLIM_INFINITY else max(1, min(wanted, soft // 2))
