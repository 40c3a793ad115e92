"""The contract of a store, for values of the installation. What `store.py` says of all operations holds here too."""

from typing import Protocol


class SettingStore(Protocol):
    """Small values by name, kept for the installation and not for one job."""

    def get_setting(self, name: str) -> str | None:
        """A small value that belongs to the installation, such as the hash of the API key."""
        ...

    def put_setting(self, name: str, value: str, *, only_if_absent: bool = False) -> str:
        """Keep a value; returns the one that is kept, which is the older one with `only_if_absent`."""
        ...

    def list_settings(self, prefix: str) -> dict[str, str]:
        """Values by name, of all whose name begins so."""
        ...

    def delete_setting(self, name: str) -> bool:
        """Forget a value; tells whether there was one."""
        ...
