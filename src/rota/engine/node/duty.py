"""A duty: something that is done again and again. The node drives it, and so does a simulation."""

from collections.abc import Callable, Iterable
from typing import Protocol, TypeVar

Item = TypeVar("Item")
Answer = TypeVar("Answer")


class Duty(Protocol):
    """See `run_once`."""

    def run_once(self, now: int) -> float:
        """One round; returns how many seconds the next one can wait."""
        ...


class Round:
    """One round over several things, such as all queues. One that fails, as a queue does on a server of a cluster that
    is away, keeps no other waiting; the first error is raised in the end."""

    def __init__(self) -> None:
        self._errors: list[Exception] = []

    def each(self, items: Iterable[Item], do: Callable[[Item], Answer]) -> list[Answer]:
        """Do something for each; returns the answers of those that did not fail."""
        answers = []
        for item in items:
            try:
                answers.append(do(item))
            except Exception as error:
                self._errors.append(error)
        return answers

    def end(self) -> None:
        """All was tried: raise the first error, if there was any."""
        if self._errors:
            raise self._errors[0]
