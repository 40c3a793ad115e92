"""Synchrony's default key, `dev_key`. Everybody knows it, so it serves to begin with and no longer: it ends for good as
soon as a person makes or sets a key. The one that the first start of all makes does not count."""

from rota.store.contract.store import Store

DEV_KEY = "dev_key"
_ENDED = "dev_key_ended"
"""The setting that says so; it stays when the keys that ended it are revoked."""


def is_dev_key(key: str | None) -> bool:
    return key == DEV_KEY


def end_dev_key(store: Store) -> None:
    """A person has made or set a key."""
    store.put_setting(_ENDED, "true", only_if_absent=True)


def has_ended(store: Store) -> bool:
    return store.get_setting(_ENDED) is not None
