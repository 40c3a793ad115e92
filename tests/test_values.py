"""Values do not change: whoever holds one has what was decided, whatever others do meanwhile."""

import importlib
import pkgutil
from collections.abc import Iterator

import msgspec

import rota

CHANGING = {
    "rota.dialects.sync_tasks.redis.mirror._Place",
    "rota.engine.housekeeping.copies.copying.Copied",
    "rota.streaming.records.entry.Entry",
}
"""What counts or moves on while somebody works with it. Each belongs to one object."""
NOT_IMPORTED = ("rota.sdk.django", "rota.__main__")


def structs() -> Iterator[type[msgspec.Struct]]:
    for module in pkgutil.walk_packages(rota.__path__, "rota."):
        if not module.name.startswith(NOT_IMPORTED):
            for value in vars(importlib.import_module(module.name)).values():
                if isinstance(value, type) and issubclass(value, msgspec.Struct) and value.__module__ == module.name:
                    yield value


def test_every_struct_is_frozen_but_these() -> None:
    found = list(structs())

    assert len(found) > 300
    assert {f"{one.__module__}.{one.__name__}" for one in found if not one.__struct_config__.frozen} == CHANGING
