"""A process that dies, does not hear an answer, or is overtaken by another one, at a chosen call of Redis."""

from collections.abc import Callable
from typing import Any

from redis.exceptions import ConnectionError as RedisConnectionError

from rota.store import Store
from rota.store.redis.store import RedisStore

Act = Callable[[Store], object]
Way = Callable[[Store, int, Act], bool]


class Died(BaseException):
    """The process did nothing after this."""


class _Line:
    """A driver whose calls are counted; something happens at one of them. What goes out together is one call."""

    def __init__(self, client: Any, number: int, before: Callable[[], object], after: Callable[[], object]) -> None:
        self._client = client
        self._before, self._after = before, after
        self.left = number

    def __getattr__(self, name: str) -> Any:
        real = getattr(self._client, name)
        return (lambda *args, **options: self._call(real, *args, **options)) if callable(real) else real

    def _call(self, real: Callable[..., Any], *args: Any, **options: Any) -> Any:
        self.left -= 1
        is_time = self.left == 0
        if is_time:
            self._before()
        answer = real(*args, **options)
        if is_time:
            self._after()
        return answer


def die(store: Store, number: int, act: Act) -> bool:
    """Act, and die before the call of this number. False if there is none: it is done."""
    try:
        return _act(store, number, act, before=_die)
    except Died:
        return True


def lose_answer(store: Store, number: int, act: Act) -> bool:
    """Act, and lose the answer to the call of this number. False if there is none."""
    return _act(store, number, act, after=_break)


def meet(store: Store, number: int, act: Act, meanwhile: Callable[[], object]) -> bool:
    """Act, and have something else happen before the call of this number. False if there is none."""
    return _act(store, number, act, before=meanwhile)


def _act(
    store: Store,
    number: int,
    act: Act,
    *,
    before: Callable[[], object] = lambda: None,
    after: Callable[[], object] = lambda: None,
) -> bool:
    assert isinstance(store, RedisStore)
    link, real = store._link, store._link.client
    line = _Line(real, number, before, after)
    link._client = line
    try:
        act(store)
    finally:
        link._client = real
    return line.left <= 0


def _die() -> None:
    raise Died


def _break() -> None:
    raise RedisConnectionError("the answer is lost")
