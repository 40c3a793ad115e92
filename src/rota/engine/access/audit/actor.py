"""Who acts right now. A surface says it once per request; everything that the request changes is recorded as theirs.

It goes with the context of a task or thread and not through every signature: who acts changes nothing of what is done.
What a caller may do is an argument (`engine/access/keys/rights.py`).
"""

import os
import pwd
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache

from rota.model.access.audit import Actor

STORE = "store"
"""The origin of whoever works on the store without a surface that says more."""
_acting: ContextVar[Actor | None] = ContextVar("rota_acting", default=None)


@contextmanager
def acting(actor: Actor) -> Iterator[None]:
    """Everything within is done by this actor."""
    token = _acting.set(actor)
    try:
        yield
    finally:
        _acting.reset(token)


def begin_acting(actor: Actor) -> None:
    """From here on this task, with the threads that it calls, acts for this actor: for a task that serves one request
    and ends with it."""
    _acting.set(actor)


@contextmanager
def acting_here(origin: str) -> Iterator[None]:
    """Everything within is done by the user of this process, from there."""
    with acting(Actor(user_of_process(), origin)):
        yield


def current_actor() -> Actor:
    return _acting.get() or Actor(user_of_process(), STORE)


@cache
def user_of_process() -> str:
    """The name of the user, as the machine knows it; no variable can change it."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())
