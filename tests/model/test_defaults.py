"""What a field is when nobody says: a record that was written without it has this value, for ever. `defaults.txt` has
them all, written out; whoever changes one of them changes what old records mean."""

from collections.abc import Iterator
from pathlib import Path

import msgspec

import rota.model
from tests.structs import structs_of

TABLE = Path(__file__).with_name("defaults.txt")


def shown(struct: type[msgspec.Struct]) -> Iterator[str]:
    for field in msgspec.structs.fields(struct):
        if not field.required:
            is_made = field.default is msgspec.NODEFAULT
            default = field.default_factory() if is_made else field.default
            yield f"{struct.__module__.removeprefix('rota.model.')}.{struct.__name__}.{field.name} = {_text(default)}"


def _text(value: object) -> str:
    return repr(sorted(map(str, value))) if isinstance(value, frozenset) else repr(value)


def test_what_a_field_is_when_nobody_says_is_what_the_table_says() -> None:
    assert sorted(line for one in structs_of(rota.model) for line in shown(one)) == TABLE.read_text().splitlines()
