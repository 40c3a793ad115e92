"""Giving out jobs, as far as it is the same in every store: what a claim asks for, also of one that has nothing to
settle first."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

from rota.model.runs.settlement import Settlement
from rota.store.contract.claims import Claims


class Wanted(NamedTuple):
    """What a claim asks for."""

    token: str
    limit: int
    now: int
    begin: int
    """How many of the jobs begin at once."""


class Claiming(ABC):
    """See `rota.store.contract.claims.ClaimStore` for what each method promises."""

    def claim_jobs(self, queue: str, *, token: str, limit: int, now: int, begin: int | None = None) -> Claims:
        return self._claim(queue, Wanted(token, limit, now, limit if begin is None else begin))

    def finish_and_claim_jobs(
        self,
        queue: str,
        settlements: Sequence[Settlement],
        *,
        token: str,
        limit: int,
        now: int,
        begin: int | None = None,
    ) -> Claims:
        wanted = Wanted(token, limit, now, limit if begin is None else begin)
        return self._finish_and_claim(queue, settlements, wanted) if settlements else self._claim(queue, wanted)

    @abstractmethod
    def _claim(self, queue: str, wanted: Wanted) -> Claims: ...

    @abstractmethod
    def _finish_and_claim(self, queue: str, settlements: Sequence[Settlement], wanted: Wanted) -> Claims:
        """There are settlements."""
