"""Time zones by their IANA name. A name that is nearly right is refused with the right one, never guessed at."""

import re
from difflib import get_close_matches
from functools import cache, lru_cache
from zoneinfo import ZoneInfo, available_timezones

from rota.errors import InvalidInput

UTC = "UTC"
_MACHINE_ZONES = frozenset({"localtime", "posixrules", "Factory"})
"""They mean something else on every machine, or nothing."""
_OFFSET = re.compile(r"(?:UTC|GMT)?([+-])(\d{1,2})(?::?00)?", re.ASCII)


def parse_zone(field: str, name: object) -> str:
    """The name, if it is one; `InvalidInput` with a suggestion if not."""
    if not isinstance(name, str):
        raise InvalidInput(field, f"must be the name of a zone such as Europe/Berlin, got {name!r}")
    if not _is_zone(name):
        raise InvalidInput(field, f"{name[:60]!r} is not a time zone{_hint(name)}")
    return name


@lru_cache(maxsize=2048)
def _is_zone(name: str) -> bool:
    """Asks for one zone instead of listing all, which takes a hundred times as long."""
    if name in _MACHINE_ZONES or name.startswith(("posix/", "right/")):
        return False
    try:
        return bool(name) and ZoneInfo(name).key == name
    except (KeyError, OSError, ValueError):
        return False


def _hint(name: str) -> str:
    if found := _OFFSET.fullmatch(name.strip().upper()):
        # POSIX counts westwards, so the sign turns round.
        sign = "-" if found[1] == "+" else "+"
        if int(found[2]) <= 12:
            return f"; zones have names such as Europe/Berlin, or Etc/GMT{sign}{int(found[2])} for a fixed offset"
    close = suggest_zone(name)
    return f"; did you mean {close}?" if close else "; zones have IANA names such as Europe/Berlin or UTC"


def suggest_zone(name: str) -> str | None:
    """The zone most like this name: equal but for case, spaces and underscores, else the nearest spelling."""
    names = _names_by_sound()
    sound = _sound(name[:60])
    if sound in names:
        return names[sound]
    cities = {key.rpartition("/")[2]: full for key, full in names.items() if "/" in key}
    if sound in cities:
        return cities[sound]
    close = get_close_matches(sound, names, n=1, cutoff=0.75)
    return names[close[0]] if close else None


@cache
def _names_by_sound() -> dict[str, str]:
    names = sorted(available_timezones() - _MACHINE_ZONES, key=_rank)
    return {_sound(name): name for name in names}


def _rank(name: str) -> tuple[bool, str]:
    """Names with a region last, so that they win over old ones that sound the same."""
    return "/" in name, name


def _sound(name: str) -> str:
    return re.sub(r"[\s_-]", "", name).casefold()
