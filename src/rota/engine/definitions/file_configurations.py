"""Configurations that stand in a file are owned by it: brought into the store, changed there, removed when it is gone.

Which ones the file owns is kept in a setting, so that those which are gone are found without looking at all.
"""

from collections.abc import Collection, Iterator, Sequence

import msgspec

from rota.engine.definitions.definitions import MANAGED_BY_FILE
from rota.engine.events.configurations import Configurations
from rota.errors import Conflict, InvalidInput
from rota.model.events.configuration_request import ConfigurationRequest
from rota.store.events import ConfigurationEntry
from rota.store.store import Store

_OWNED = "file_configurations"
Told = tuple[str, str]
"""Name, and what is to be done with it."""


class FileConfigurations:
    """Makes the configurations of a file those of the store."""

    def __init__(self, store: Store, configurations: Configurations) -> None:
        self._store = store
        self._configurations = configurations

    def check(self, requests: Sequence[ConfigurationRequest], job_types: Collection[str]) -> None:
        """Refuse what cannot be stored: bad input changes nothing."""
        for number, request in enumerate(requests):
            wanted = request.job.job_type if request.job else None
            if wanted is not None and wanted not in job_types:
                raise InvalidInput(f"configurations[{number}].job.job_type", f"no job type {wanted!r}")
            there = self._find(request.name)
            if there and there.configuration.managed_by != MANAGED_BY_FILE:
                name = request.name
                raise Conflict(f"{name!r} stands in the configuration file, but was defined in another way before")
            self._configurations.check_possible(request)

    def diff(self, requests: Sequence[ConfigurationRequest]) -> Iterator[Told]:
        """What `apply` would do, as far as it can be told before the job types of the file are there."""
        before = {entry.configuration.name: entry for entry in self._owned()}
        for request in requests:
            there = before.pop(request.name, None)
            if there is None:
                yield request.name, "create"
            elif not _is_same(request, there):
                yield request.name, "change"
        for name in sorted(before):
            yield name, "delete"

    def apply(self, requests: Sequence[ConfigurationRequest]) -> None:
        before = self._owned()
        self._remember([entry.configuration.uuid for entry in before], requests)
        for request in requests:
            self._configurations.put_from_file(request, self._find(request.name))
        names = {request.name for request in requests}
        self._configurations.remove([entry for entry in before if entry.configuration.name not in names])
        self._remember([], requests)

    def _find(self, name: str) -> ConfigurationEntry | None:
        uuid = self._store.configuration_uuid(name)
        return None if uuid is None else self._store.find_configurations([uuid])[0]

    def _owned(self) -> list[ConfigurationEntry]:
        uuids = msgspec.json.decode(self._store.get_setting(_OWNED) or "[]", type=list[str])
        found = self._store.find_configurations(uuids)
        return [entry for entry in found if entry and entry.configuration.managed_by == MANAGED_BY_FILE]

    def _remember(self, others: list[str], requests: Sequence[ConfigurationRequest]) -> None:
        """Before something changes also those that may be left over, afterwards only what stands in the file."""
        found = (self._store.configuration_uuid(request.name) for request in requests)
        uuids = {*others, *(uuid for uuid in found if uuid)}
        self._store.put_setting(_OWNED, msgspec.json.encode(sorted(uuids)).decode())


def _is_same(request: ConfigurationRequest, there: ConfigurationEntry) -> bool:
    one = there.configuration
    job = request.job
    return (
        (request.dependencies, request.rule, request.clock, request.late)
        == (one.dependencies, one.rule, one.clock, one.late)
        and (job is None) == one.logs_only
        and (job is None or (job.arguments, job.priority) == (one.arguments, one.priority))
    )
