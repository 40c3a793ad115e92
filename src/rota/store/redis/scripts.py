"""Loads the Lua files of `scripts/` and calls them by name.

A line `-- include: locks` in a script's header puts `includes/locks.lua` in front of its body. Scripts are called by
hash; a server that does not know the hash (new, restarted, SCRIPT FLUSH) is sent the text, and callers notice nothing.
"""

import hashlib
import re
from collections.abc import Iterator, Sequence
from importlib import resources
from typing import Any, TypeVar

from redis.exceptions import NoScriptError

_INCLUDE = re.compile(r"^-- include: (\w+)$", re.MULTILINE)

Item = TypeVar("Item")
Value = str | bytes | int
MOST_PER_CALL = 1_000
"""Lua can unpack about 8,000 values; entries take up to two each. And no step is to take long."""
ScriptCall = tuple[str, Sequence[str], Sequence[Value]]
"""A script by name, its keys and its arguments."""


class Script:
    """One atomic operation."""

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.text = text
        self.sha = hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()

    def call(self, client: Any, keys: Sequence[str], args: Sequence[Value]) -> Any:
        """Run it on `client`, a `redis.Redis` or `redis.cluster.RedisCluster`."""
        try:
            return client.evalsha(self.sha, len(keys), *keys, *args)
        except NoScriptError:
            return client.eval(self.text, len(keys), *keys, *args)


def parts_of(items: Sequence[Item], most: int = MOST_PER_CALL) -> Iterator[Sequence[Item]]:
    """As many items at a time as one call takes."""
    return (items[start : start + most] for start in range(0, len(items), most))


def load_scripts(package: str = __package__) -> dict[str, Script]:
    """All scripts of a package by name. Those of a dialect may include ours."""
    folder = resources.files(package).joinpath("scripts")
    files = [file for file in folder.iterdir() if file.name.endswith(".lua")]
    return {(name := file.name[:-4]): Script(name, _with_includes(file.read_text())) for file in files}


def _with_includes(text: str) -> str:
    folder = resources.files(__package__).joinpath("scripts").joinpath("includes")
    includes = [folder.joinpath(f"{name}.lua").read_text() for name in _INCLUDE.findall(text)]
    return "\n".join([*includes, text])


SCRIPTS = load_scripts()
"""The store's own, by name."""
