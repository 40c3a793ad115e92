"""Loads the Lua files of `scripts/`, which has a folder per noun, and calls them by name.

A line `-- include: locks` in a script's header puts `includes/locks.lua` in front of its body. Scripts are called by
hash; a server that does not know the hash (new, restarted, SCRIPT FLUSH) is sent the text, and callers notice nothing.
"""

import hashlib
import re
from collections.abc import Iterator, Sequence
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any, TypeVar

from redis.exceptions import NoScriptError

from rota.store.redis.link.commands import Value

_INCLUDE = re.compile(r"^-- include: (\w+)$", re.MULTILINE)

_STORE = "rota.store.redis"
_INCLUDES = "includes"

Item = TypeVar("Item")
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


def load_scripts(package: str = _STORE) -> dict[str, Script]:
    """All scripts of a package by name. Those of a dialect may include ours."""
    scripts: dict[str, Script] = {}
    for file in _lua_files(_scripts_of(package)):
        name = file.name.removesuffix(".lua")
        if name in scripts:
            raise ValueError(f"{package} has two scripts of the name {name}")
        scripts[name] = Script(name, _with_includes(file.read_text()))
    return scripts


def _scripts_of(package: str) -> Traversable:
    return resources.files(package).joinpath("scripts")


def _lua_files(folder: Traversable) -> Iterator[Traversable]:
    for entry in folder.iterdir():
        if entry.is_dir() and entry.name != _INCLUDES:
            yield from _lua_files(entry)
        elif entry.name.endswith(".lua"):
            yield entry


def _with_includes(text: str) -> str:
    folder = _scripts_of(_STORE).joinpath(_INCLUDES)
    includes = [folder.joinpath(f"{name}.lua").read_text() for name in _INCLUDE.findall(text)]
    return "\n".join([*includes, text])


SCRIPTS = load_scripts()
"""The store's own, by name."""
