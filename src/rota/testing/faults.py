"""A store that fails on demand. Everything that is not made to fail happens in the real one."""

import threading
from collections import deque
from collections.abc import Callable
from typing import cast

from rota.errors import StoreUnavailable
from rota.store import Store
from rota.store.contract.claims import Lifeline


def away() -> None:
    """What a call does while the store cannot be reached."""
    raise StoreUnavailable("the store is away, as the test wants it")


class Faults:
    """Makes calls of a store go wrong: before they happen, or after, when only the answer is lost. Operations are those
    of `rota.store.Store`, by name, as in `faults.before("enqueue_jobs", away)`."""

    def __init__(self, store: object) -> None:
        self._store = store
        self._before: dict[str, deque[Callable[[], object]]] = {}
        self._after: dict[str, deque[Callable[[], object]]] = {}
        self._is_cut = threading.Event()
        self.calls: list[str] = []

    def cut_off(self) -> None:
        """Nothing gets through any more, until `reconnect`."""
        self._is_cut.set()

    def reconnect(self) -> None:
        self._is_cut.clear()

    @property
    def real(self) -> Store:
        """The same store, without faults."""
        return cast(Store, self._store)

    @property
    def store(self) -> Store:
        """The same store, with the faults."""
        return cast(Store, self)

    def before(self, name: str, *faults: Callable[[], object]) -> None:
        """The next calls of an operation do this first, one fault for each; what it raises is raised to the caller."""
        self._before.setdefault(name, deque()).extend(faults)

    def after(self, name: str, *faults: Callable[[], object]) -> None:
        """The next calls of an operation happen, and then do this."""
        self._after.setdefault(name, deque()).extend(faults)

    def awaits(self, name: str) -> bool:
        """Whether faults of an operation have not happened yet."""
        return bool(self._before.get(name) or self._after.get(name))

    def lifeline(self, *, timeout_s: float) -> Lifeline:
        """A line with the same faults."""
        self._prepare("lifeline")
        line = Faults(self.real.lifeline(timeout_s=timeout_s))
        line._before, line._after, line.calls, line._is_cut = self._before, self._after, self.calls, self._is_cut
        return cast(Lifeline, line)

    def _prepare(self, name: str) -> None:
        self.calls.append(name)
        if self._is_cut.is_set() and name != "close":
            raise StoreUnavailable("cut off")
        if self._before.get(name):
            self._before[name].popleft()()

    def __getattr__(self, name: str) -> object:
        real = getattr(self._store, name)
        if not callable(real):
            return real

        def call(*args: object, **options: object) -> object:
            self._prepare(name)
            answer = real(*args, **options)
            if self._after.get(name):
                self._after[name].popleft()()
            return answer

        return call
