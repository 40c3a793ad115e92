"""What schedules and configurations of a file, or an app, have in common: there may be very many others in the store,
so a setting names those which the file owns, and those which are gone from it are found without looking at all."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Generic, Protocol, TypeVar

import msgspec

from rota.engine.definitions.ownership import MANAGED_BY_FILE, Owned, refuse_for_owner
from rota.store.store import Store


class Named(Protocol):
    """A request for a schedule or a configuration."""

    @property
    def name(self) -> str | None: ...


class OwnedByUuid(Owned, Protocol):
    """A schedule or a configuration."""

    @property
    def uuid(self) -> str: ...


Request = TypeVar("Request", bound=Named)
Entry = TypeVar("Entry")


class FileKind(ABC, Generic[Request, Entry]):
    """Makes the requests of a file, of one kind, those of the store."""

    def __init__(self, store: Store, kind: str, owner: str) -> None:
        self._store = store
        self._owner = owner
        self._setting = f"file_{kind}" if owner == MANAGED_BY_FILE else f"{owner}/{kind}"

    def apply(self, requests: Sequence[Request]) -> None:
        """Bring what is in the file into the store, and remove what the file owned and no longer has."""
        before = self.owned()
        self._remember(before, requests)
        for request in requests:
            self._put(request, self.find(request))
        names = {request.name for request in requests}
        self._remove([entry for entry in before if self._value(entry).name not in names])
        self._remember([], requests)

    def add(self, requests: Sequence[Request]) -> None:
        """The same without removing anything."""
        self._remember(self.owned(), requests)
        for request in requests:
            self._put(request, self.find(request))

    def find(self, request: Request) -> Entry | None:
        """What has its name."""
        uuid = self._uuid(request.name or "")
        return None if uuid is None else self._find([uuid])[0]

    def owned(self) -> list[Entry]:
        """What the file owns."""
        uuids = msgspec.json.decode(self._store.get_setting(self._setting) or "[]", type=list[str])
        return [entry for entry in self._find(uuids) if entry and self._value(entry).managed_by == self._owner]

    def refuse_taken(self, request: Request) -> None:
        """Refuse a name that somebody else's has."""
        found = self.find(request)
        if found is not None:
            refuse_for_owner(self._value(found), self._owner)

    def _remember(self, others: Sequence[Entry], requests: Sequence[Request]) -> None:
        """Before something changes also those that may be left over, afterwards only what is in the file."""
        found = (self._uuid(request.name or "") or self._first_uuid(request) for request in requests)
        uuids = {*(self._value(entry).uuid for entry in others), *(uuid for uuid in found if uuid)}
        self._store.put_setting(self._setting, msgspec.json.encode(sorted(uuids)).decode())

    @abstractmethod
    def _uuid(self, name: str) -> str | None:
        """The uuid of the one with this name."""

    @abstractmethod
    def _find(self, uuids: Sequence[str]) -> list[Entry | None]:
        """One answer per uuid, in order."""

    @abstractmethod
    def _value(self, entry: Entry) -> OwnedByUuid: ...

    @abstractmethod
    def _first_uuid(self, request: Request) -> str | None:
        """The uuid that a new one will have, if that is known before it is made."""

    @abstractmethod
    def _put(self, request: Request, there: Entry | None) -> None: ...

    @abstractmethod
    def _remove(self, entries: Sequence[Entry]) -> None: ...
