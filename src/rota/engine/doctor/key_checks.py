"""Checks of the keys with which a server of these settings can be used."""

from collections.abc import Iterator

from rota.engine.access.keys.dev_key import has_ended, is_dev_key
from rota.engine.access.keys.named_keys import list_keys
from rota.engine.doctor.finding import Finding, warning
from rota.engine.doctor.machine_checks import is_loopback_name
from rota.engine.engine import Engine
from rota.settings import Settings

_FIX = "rota key create NAME makes a key of your own, and ends dev_key for good"


def check_keys(rota: Engine, settings: Settings) -> Iterator[Finding]:
    """Whether the key that everybody knows works."""
    may_work = settings.api_key is None or is_dev_key(settings.api_key)
    if not (may_work and settings.server_enabled and is_loopback_name(settings.host)):
        return
    if not has_ended(rota.store) and not list_keys(rota.store):
        yield warning("key", "dev_key, which everybody knows, works for this user's programs on this machine", _FIX)
