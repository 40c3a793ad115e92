"""Signals to a process group, and whether anybody in it is still alive."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_PROC = Path("/proc")


def signal_group(group: int, number: int) -> None:
    """Send a signal to every member that there is, as far as this process may."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def may_kill(pid: int) -> bool:
    """Whether this process may: not if that one belongs to another user, as `sudo` does. One that is gone counts as
    killed."""
    try:
        with suppress(ProcessLookupError):
            os.kill(pid, 0)
    except PermissionError:
        return False
    return True


def has_living_member(group: int) -> bool:
    """Whether a member is more than a zombie. Orphans wait as zombies for the system's first process, which may take
    its time to collect them, or never do it in a container. Where this cannot be seen, a zombie counts as alive; so
    does the whole group while there is no descriptor to look with."""
    can_be_seen = (_PROC / "self/stat").exists()
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # all members are of another user; or macOS answers so of zombies
        if not can_be_seen:
            return False
    try:
        return not can_be_seen or any(_living_members(group))
    except OSError:
        return True


def unkillable_members(group: int) -> tuple[str, ...]:
    """The living members that this process may not kill, as `123 (sudo)`, as far as they can be seen."""
    with suppress(OSError):
        return tuple(f"{pid} ({name})" for pid, name in _living_members(group) if not may_kill(pid))
    return ()


def _living_members(group: int) -> Iterator[tuple[int, str]]:
    """Number and name of each. `OSError` where they cannot be seen."""
    with os.scandir(_PROC) as entries:
        for entry in entries:
            if entry.name.isdigit() and (name := _name_of_member(entry.name, group)) is not None:
                yield int(entry.name), name


def _name_of_member(pid: str, group: int) -> str | None:
    """Of what is alive and in the group."""
    try:
        stat = (_PROC / pid / "stat").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return None  # it ended meanwhile
    except PermissionError:
        return None  # where others' processes are hidden (hidepid); ours can always be read
    # The name between the first parenthesis and the last may hold anything; then come state, parent and group.
    before, _, after = stat.rpartition(b")")
    state, _, its_group = after.split(maxsplit=3)[:3]
    if int(its_group) != group or state in (b"Z", b"X"):
        return None
    return before.partition(b"(")[2].decode(errors="replace")
