"""Every struct of a package."""

import importlib
import pkgutil
from collections.abc import Iterator
from types import ModuleType

import msgspec


def structs_of(package: ModuleType, *, but: tuple[str, ...] = ()) -> Iterator[type[msgspec.Struct]]:
    """Those that its modules define; `but` are beginnings of names of modules that are not imported."""
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if not module.name.startswith(but):
            for value in vars(importlib.import_module(module.name)).values():
                if isinstance(value, type) and issubclass(value, msgspec.Struct) and value.__module__ == module.name:
                    yield value
