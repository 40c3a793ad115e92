"""Keeps one foreign hash and what Rota knows the same, whoever changes which.

For every field the dialect remembers what stood there and what stood here when both last agreed. A side that differs
from that was changed since. So a change is carried over once, in its direction, and never comes back as an echo, also
when the two sides write the same thing in different words. When both changed, theirs is taken.

Writes to the foreign hash happen only if the field is still as it was read, in one script with the memory of it.
"""

import hashlib
import logging
from collections.abc import Mapping, Sequence
from enum import Enum, auto
from typing import Protocol

from rota.dialects.synchrony import keys
from rota.errors import Conflict, RotaError, StoreError
from rota.store.redis.link.access import RedisAccess
from rota.store.redis.link.commands import Value
from rota.store.redis.link.scripts import load_scripts

_MOST_SAID = 1_000
_PER_CALL = 500
_SCRIPTS = load_scripts("rota.dialects.synchrony")
_AGREE, _LOOK = _SCRIPTS["agree_fields"], _SCRIPTS["look_at_fields"]
_logger = logging.getLogger("rota.synchrony")


class NotTheirs(Conflict):
    """The definition belongs to another owner, so what was done to it in the foreign hash is undone."""


class Fate(Enum):
    """What became of a change that somebody made there."""

    TAKEN = auto()
    UNDONE = auto()
    """It is not theirs to change: what Rota has is put back."""
    REFUSED = auto()
    """It cannot be, at least not yet: it stays there without effect."""


class Side(Protocol):
    """What Rota has for one foreign hash."""

    @property
    def key(self) -> str:
        """The foreign hash."""
        ...

    def ours(self, theirs: Mapping[str, bytes]) -> dict[str, bytes]:
        """What Rota would write there. `theirs` is what is there, which may decide how it is written."""
        ...

    def take(self, field: str, text: bytes) -> None:
        """Define here what somebody wrote there. `NotTheirs`, or any other refusal."""
        ...

    def remove(self, field: str) -> None:
        """Remove here what somebody removed there. `NotTheirs`, or any other refusal."""
        ...


class Agreement:
    """One foreign hash."""

    def __init__(self, access: RedisAccess, side: Side) -> None:
        self._access = access
        self._side = side
        self.key = side.key
        self._memory = keys.agreed(side.key)
        self._said: set[tuple[str, str]] = set()
        self._last: tuple[dict[str, bytes], dict[str, bytes]] | None = None
        self.is_reached = True
        """Whether nothing was refused the last time."""

    def reach(self, *, quietly: bool = False) -> None:
        """Carry over what changed. What was refused is tried again next time."""
        # At one moment: what another node takes between two looks would be remembered and not be there, as if somebody
        # had removed it. Ours is read afterwards: what is newer than the memory differs from it, and counts.
        places = [self._side.key, self._memory]
        theirs, memory = map(_texts, self._access.run(_LOOK, places, []))
        ours = self._side.ours(theirs)
        if self._last == (theirs, ours):
            return
        changed = [field for field in {*theirs, *memory} if _was_changed(theirs.get(field), memory.get(field))]
        fates = {field: self._carry(field, theirs.get(field), quietly) for field in sorted(changed)}
        if fates:
            ours = self._side.ours(theirs)
        fields = {*theirs, *ours, *memory} - _with(fates, Fate.REFUSED)
        args: list[Value] = []
        for field in sorted(fields):
            args += _entry(field, theirs.get(field), ours.get(field), memory.get(field, b""), fates.get(field))
        for start in range(0, len(args), 4 * _PER_CALL):
            self._access.run(_AGREE, places, args[start : start + 4 * _PER_CALL])
        self.is_reached = Fate.REFUSED not in fates.values()
        self._last = (theirs, ours) if self.is_reached and not args else None

    def _carry(self, field: str, text: bytes | None, quietly: bool) -> Fate:
        """One change there, made here."""
        try:
            self._side.remove(field) if text is None else self._side.take(field, text)
        except NotTheirs as error:
            self._say(field, str(error))
            return Fate.UNDONE
        except StoreError:
            raise
        except RotaError as error:
            if not quietly:
                self._say(field, str(error))
            return Fate.REFUSED
        except Exception as error:  # such as an executor of somebody else's that trips over what it is to check
            self._say(field, f"{type(error).__name__}: {error}")
            return Fate.REFUSED
        self._said = {one for one in self._said if one[0] != field}
        return Fate.TAKEN

    def _say(self, field: str, reason: str) -> None:
        if (field, reason) in self._said:
            return
        if len(self._said) >= _MOST_SAID:
            self._said.clear()
        self._said.add((field, reason))
        extra = {"key": self._side.key, "field": field, "reason": reason}
        _logger.warning("an entry among Synchrony's keys has no effect", extra=extra)


def _entry(field: str, there: bytes | None, here: bytes | None, agreed: bytes, fate: Fate | None) -> list[Value]:
    """What is to be there from now on, and what was agreed; nothing if all is as it was."""
    changed_here = fate is not Fate.TAKEN and _digest(here) != agreed.partition(b" ")[2]
    wanted = here if changed_here or fate is Fate.UNDONE else there
    mark = _digest(wanted) + b" " + _digest(here) if wanted or here else b""
    return [] if wanted == there and mark == agreed else [field, there or b"", wanted or b"", mark]


def _with(fates: Mapping[str, Fate], wanted: Fate) -> set[str]:
    return {field for field, fate in fates.items() if fate is wanted}


def _texts(raw: Sequence[bytes]) -> dict[str, bytes]:
    """Fields and values by turns."""
    fields = (field.decode("utf-8", "backslashreplace") for field in raw[::2])
    return dict(zip(fields, raw[1::2], strict=True))


def _digest(text: bytes | None) -> bytes:
    return hashlib.sha1(text, usedforsecurity=False).hexdigest().encode() if text else b""


def _was_changed(there: bytes | None, agreed: bytes | None) -> bool:
    return _digest(there) != (agreed or b"").partition(b" ")[0]
