"""The time zone that this machine is set to, which is the one that its cron goes by."""

import os
from pathlib import Path

from rota.errors import InvalidInput
from rota.model.triggers.zones.zones import UTC, parse_zone

_LOCALTIME = Path("/etc/localtime")
_TIMEZONE = Path("/etc/timezone")


def machine_zone() -> str:
    """TZ, else what /etc/localtime points to, else /etc/timezone, else UTC."""
    for name in (os.environ.get("TZ", "").removeprefix(":"), _linked_zone(), _named_zone()):
        try:
            return parse_zone("TZ", name)
        except InvalidInput:
            continue
    return UTC


def _linked_zone() -> str:
    return str(_LOCALTIME.resolve()).partition("zoneinfo/")[2]


def _named_zone() -> str:
    try:
        return _TIMEZONE.read_text().strip()
    except OSError:
        return ""
