"""The contract of a store, for jobs that are over. What `store.py` says of all operations holds here too."""

from typing import Protocol


class HistoryStore(Protocol):
    """Ended jobs, kept within bounds."""

    def trim_history(self, queue: str, *, ended_before: int, keep: int, limit: int) -> int:
        """Forget ended jobs with their logs: those that ended before an instant, and the oldest beyond `keep`.

        At most `limit` in one call; returns how many. Fewer may be forgotten than there are; only 0 means that nothing
        is left to forget. The call may be many steps, so that others need not wait for it: a long log is forgotten
        piece by piece, from its beginning, and its job with the last piece.
        """
        ...
