"""What a command may use: memory, processor time, open files, rights and a user of its own, by its job type.

A small shell sets the limits on itself and then becomes the command, so they hold from its first instruction on and for
all that it starts. Taking rights away needs `setpriv` (util-linux). A limit that cannot be set stops the command.
"""

import os
import pwd
import shutil
from collections.abc import Sequence

from msgspec import Struct

from rota.engine.executors.metadata import check_flag, check_text, did_you_mean
from rota.errors import InvalidInput
from rota.model.limits import check_range

LIMITS = "limits"
_FIELD = f"metadata.{LIMITS}"
_MOST = 1 << 40
_ULIMIT = {"memory_mb": ("v", 1024), "cpu_s": ("t", 1), "open_files": ("n", 1), "file_size_mb": ("f", 2048)}
"""Key to the letter of `ulimit` and its units in one of ours: KiB of address space, blocks of 512 bytes of a file."""
_KEYS = (*_ULIMIT, "no_new_privileges", "user")


class Limits(Struct, frozen=True):
    """The limits of one job type."""

    shell: tuple[str, ...] = ()
    """Words of `ulimit`, such as `-t 60`."""
    no_new_privileges: bool = False
    user: str | None = None


NONE = Limits()


def read_limits(metadata: dict[str, object]) -> Limits:
    """The limits of a job type; `InvalidInput` names what is wrong with them."""
    given = metadata.get(LIMITS)
    if given is None:
        return NONE
    if not isinstance(given, dict):
        raise InvalidInput(_FIELD, f"must be an object, got {given!r:.100}")
    for key in given:
        if key not in _KEYS:
            raise InvalidInput(
                f"{_FIELD}.{key}", f"unknown{did_you_mean(str(key), list(_KEYS))}; known are {', '.join(_KEYS)}"
            )
    return Limits(
        tuple(_words(key, given[key]) for key in _ULIMIT if key in given),
        check_flag(given, "no_new_privileges"),
        _read_user(given.get("user")),
    )


def may_run_short(metadata: dict[str, object]) -> bool:
    """Whether a process of this job type that lacks something may lack it by its own limits, however often it is tried
    again."""
    given = metadata.get(LIMITS)
    return isinstance(given, dict) and not given.keys().isdisjoint(("memory_mb", "open_files"))


def _words(key: str, value: object) -> str:
    letter, units = _ULIMIT[key]
    return f"-{letter} {check_range(f'{_FIELD}.{key}', value, 1, _MOST) * units}"


def _read_user(value: object) -> str | None:
    if value is None:
        return None
    if not check_text(f"{_FIELD}.user", value):
        raise InvalidInput(f"{_FIELD}.user", "is empty")
    return str(value)


def limited(argv: Sequence[str], limits: Limits) -> list[str]:
    """What to start instead of a command; `InvalidInput` says what this node cannot do."""
    found = [*_with_fewer_rights(limits), *argv]
    if not limits.shell:
        return found
    script = "".join(f"ulimit {one} || exit 126; " for one in limits.shell)
    return ["/bin/sh", "-c", f'{script}exec "$@"', "sh", *found]


def _with_fewer_rights(limits: Limits) -> list[str]:
    if not limits.no_new_privileges and limits.user is None:
        return []
    program = shutil.which("setpriv")
    if program is None:
        raise InvalidInput(_FIELD, "this node has no setpriv, which takes rights away; install util-linux there")
    return [program, *(["--no-new-privs"] if limits.no_new_privileges else []), *_as_user(limits.user), "--"]


def _as_user(name: str | None) -> list[str]:
    if name is None:
        return []
    try:
        found = pwd.getpwnam(name)
    except KeyError:
        raise InvalidInput(f"{_FIELD}.user", f"this node's machine has no user {name!r}") from None
    if found.pw_uid == os.geteuid():
        return []
    if os.geteuid() != 0:
        raise InvalidInput(f"{_FIELD}.user", f"this node may not run commands as {name!r}; only one of root may")
    return ["--reuid", str(found.pw_uid), "--regid", str(found.pw_gid), "--init-groups"]
