"""What a field is when nobody says: a record that was written without it has this value, for ever. `defaults.txt` has
them all, written out; whoever changes one of them changes what old records mean."""

import importlib
import pkgutil
from collections.abc import Iterator
from pathlib import Path

import msgspec

import rota.model

TABLE = Path(__file__).with_name("defaults.txt")


def structs() -> Iterator[type[msgspec.Struct]]:
    for module in pkgutil.walk_packages(rota.model.__path__, "rota.model."):
        for value in vars(importlib.import_module(module.name)).values():
            if isinstance(value, type) and issubclass(value, msgspec.Struct) and value.__module__ == module.name:
                yield value


def shown(struct: type[msgspec.Struct]) -> Iterator[str]:
    for field in msgspec.structs.fields(struct):
        if not field.required:
            is_made = field.default is msgspec.NODEFAULT
            default = field.default_factory() if is_made else field.default
            yield f"{struct.__module__.removeprefix('rota.model.')}.{struct.__name__}.{field.name} = {_text(default)}"


def _text(value: object) -> str:
    return repr(sorted(map(str, value))) if isinstance(value, frozenset) else repr(value)


def test_what_a_field_is_when_nobody_says_is_what_the_table_says() -> None:
    assert sorted(line for one in structs() for line in shown(one)) == TABLE.read_text().splitlines()
