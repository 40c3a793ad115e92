"""Signals to a process group, and whether anybody in it is still alive."""

import os
from contextlib import suppress
from pathlib import Path

_PROC = Path("/proc")


def signal_group(group: int, number: int) -> bool:
    """Send a signal to every member; whether there is one. macOS answers a group of zombies with EPERM."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
        return True
    return False


def has_living_member(group: int) -> bool:
    """Whether a member is more than a zombie. Orphans wait as zombies for the system's first process, which may take
    its time to collect them, or never do it in a container. Where this cannot be seen, a zombie counts as alive; so
    does the whole group while there is no descriptor to look with."""
    if not signal_group(group, 0):
        return False
    if not (_PROC / "self/stat").exists():
        return True
    try:
        with os.scandir(_PROC) as entries:
            return any(_is_living_member(entry.name, group) for entry in entries if entry.name.isdigit())
    except OSError:
        return True


def _is_living_member(pid: str, group: int) -> bool:
    try:
        stat = (_PROC / pid / "stat").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return False  # it ended meanwhile
    except PermissionError:
        return False  # where others' processes are hidden (hidepid); ours can always be read
    # The name before the last parenthesis may hold anything; then come state, parent and group.
    state, _, its_group = stat.rpartition(b")")[2].split(maxsplit=3)[:3]
    return int(its_group) == group and state not in (b"Z", b"X")
