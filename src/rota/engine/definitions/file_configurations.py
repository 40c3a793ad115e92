"""Configurations of a configuration file."""

from collections.abc import Collection, Iterator, Sequence

from rota.engine.definitions.file_kind import FileKind
from rota.engine.definitions.ownership import managed_by_file
from rota.engine.events.configurations import Configurations
from rota.errors import InvalidInput
from rota.model.events.configuration import Configuration
from rota.model.events.configuration_request import ConfigurationRequest
from rota.store.contract.events import ConfigurationEntry
from rota.store.contract.store import Store

Told = tuple[str, str]
"""Name, and what is to be done with it."""


class FileConfigurations(FileKind[ConfigurationRequest, ConfigurationEntry]):
    """See the module."""

    def __init__(self, store: Store, configurations: Configurations) -> None:
        super().__init__(store, "file_configurations")
        self._configurations = configurations

    def check(self, requests: Sequence[ConfigurationRequest], job_types: Collection[str], owner: str = "") -> None:
        """Refuse what cannot be stored: bad input changes nothing."""
        for number, request in enumerate(requests):
            wanted = request.job.job_type if request.job else None
            if wanted is not None and wanted not in job_types:
                raise InvalidInput(f"configurations[{number}].job.job_type", f"no job type {wanted!r}")
            self.refuse_taken(request, owner)
            self._configurations.check_possible(request)

    def diff(
        self, requests: Sequence[ConfigurationRequest], owner: str = "", *, prunes: bool = False
    ) -> Iterator[Told]:
        """What `apply` would do, as far as it can be told before the job types of the file are there."""
        before = {entry.configuration.name: entry for entry in self.compared(requests, owner, prunes=prunes)}
        for request in requests:
            there = before.pop(request.name, None)
            if there is None:
                yield request.name, "create"
            elif not _is_same(request, there):
                yield request.name, "change"
        for name in sorted(before):
            yield name, "delete"

    def _put(self, request: ConfigurationRequest, there: ConfigurationEntry | None, owner: str) -> None:
        self._configurations.put_from_file(request, there, managed_by=managed_by_file(owner))

    def _remove(self, entries: Sequence[ConfigurationEntry]) -> None:
        self._configurations.remove(entries)

    def _uuid(self, name: str) -> str | None:
        return self._store.configuration_uuid(name)

    def _find(self, uuids: Sequence[str]) -> list[ConfigurationEntry | None]:
        return self._store.find_configurations(uuids)

    def _value(self, entry: ConfigurationEntry) -> Configuration:
        return entry.configuration

    def _first_uuid(self, request: ConfigurationRequest) -> None:
        """It is given when one is made."""


def _is_same(request: ConfigurationRequest, there: ConfigurationEntry) -> bool:
    one = there.configuration
    job = request.job
    return (
        (request.dependencies, request.rule, request.clock, request.late)
        == (one.dependencies, one.rule, one.clock, one.late)
        and (job is None) == one.logs_only
        and (job is None or (job.arguments, job.priority) == (one.arguments, one.priority))
    )
