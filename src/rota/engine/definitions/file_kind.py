"""What schedules and configurations of a file have in common: there may be very many others in the store, so a setting
names those which the file owns, and those which are gone from it are found without looking at all."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Generic, Protocol, TypeVar

import msgspec

from rota.engine.definitions.ownership import Owned, is_of, is_of_file, refuse_for_file
from rota.store.contract.store import Store


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

    def __init__(self, store: Store, setting: str) -> None:
        self._store = store
        self._setting = setting

    def apply(self, requests: Sequence[Request], owner: str = "", *, prunes: bool = False, keeps: bool = False) -> None:
        """Bring what is in the file into the store, and remove what the file owned and no longer has. One that prunes
        also removes what other files own, one that keeps removes nothing."""
        before = self.owned(owner)
        self._remember(before, requests, owner)
        for request in requests:
            self._put(request, self.find(request), owner)
        if keeps:
            return
        names = {request.name for request in requests}
        gone = self.of_files() if prunes else before
        self._remove([entry for entry in gone if self._value(entry).name not in names])
        self._remember([], requests, owner)

    def find(self, request: Request) -> Entry | None:
        """What has its name."""
        uuid = self._uuid(request.name or "")
        return None if uuid is None else self._find([uuid])[0]

    def owned(self, owner: str = "") -> list[Entry]:
        """What the file of this name owns."""
        uuids = _uuids_in(self._store.get_setting(self._setting_of(owner)))
        return [entry for entry in self._find(uuids) if entry and is_of(self._value(entry), owner)]

    def of_files(self) -> list[Entry]:
        """What any file owns."""
        lists = self._store.list_settings(self._setting).values()
        uuids = sorted({uuid for one in lists for uuid in _uuids_in(one)})
        return [entry for entry in self._find(uuids) if entry and is_of_file(self._value(entry))]

    def compared(self, requests: Sequence[Request], owner: str, *, prunes: bool) -> list[Entry]:
        """What a file is compared with: what it owns, and what it takes over by name from a file without one."""
        there = self.of_files() if prunes else self.owned(owner)
        uuids = {self._value(entry).uuid for entry in there}
        found = [entry for request in requests if (entry := self.find(request))]
        taken = [entry for entry in found if is_of(self._value(entry), "") and self._value(entry).uuid not in uuids]
        return [*there, *taken]

    def refuse_taken(self, request: Request, owner: str = "") -> None:
        """Refuse a name that somebody else's has."""
        found = self.find(request)
        if found is not None:
            refuse_for_file(self._value(found), owner)

    def _setting_of(self, owner: str) -> str:
        return f"{self._setting}:{owner}" if owner else self._setting

    def _remember(self, others: Sequence[Entry], requests: Sequence[Request], owner: str) -> None:
        """Before something changes also those that may be left over, afterwards only what is in the file."""
        found = (self._uuid(request.name or "") or self._first_uuid(request) for request in requests)
        uuids = {*(self._value(entry).uuid for entry in others), *(uuid for uuid in found if uuid)}
        self._store.put_setting(self._setting_of(owner), msgspec.json.encode(sorted(uuids)).decode())

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
    def _put(self, request: Request, there: Entry | None, owner: str) -> None: ...

    @abstractmethod
    def _remove(self, entries: Sequence[Entry]) -> None: ...


def _uuids_in(text: str | None) -> list[str]:
    return msgspec.json.decode(text or "[]", type=list[str])
