"""Between values and their shapes, both ways. A field that both have under one name is copied, so only what differs is
said: a field that is added to a value and to its shape is told and read without a further line."""

from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar

from msgspec import Struct

Value = TypeVar("Value", bound=Struct)
Shape = TypeVar("Shape", bound=Struct)


def _same(one: Any) -> Any:
    return one


class As(NamedTuple):
    """What a field of a shape is to the value: its name there, how it is told, and how it is read back."""

    name: str
    told: Callable[[Any], Any] = _same
    read: Callable[[Any], Any] = _same


def or_null(name: str) -> As:
    """Text that may be empty, which a shape shows as null."""
    return As(name, lambda text: text or None, lambda text: text or "")


def as_list(name: str, told: Callable[[Any], Any] = _same, read: Callable[[Any], Any] = _same) -> As:
    """A tuple, and how each part of it is told and read."""
    return As(name, lambda parts: [told(one) for one in parts], lambda parts: tuple(read(one) for one in parts))


class Codec(Generic[Value, Shape]):
    """Tells a value by a shape, and reads it back. `fields` are those of the shape that need a word."""

    def __init__(self, value: type[Value], shape: type[Shape], **fields: As) -> None:
        self._value, self._shape = value, shape
        spoken_for = {*fields, *(one.name for one in fields.values())}
        both = [one for one in shape.__struct_fields__ if one in value.__struct_fields__ and one not in spoken_for]
        self._fields = {name: As(name) for name in both} | fields

    def shape(self, value: Value, **more: object) -> Shape:
        """`more` is what the shape has beyond the value, or otherwise."""
        return self._shape(**{**self.told(value), **more})

    def value(self, shape: Shape, **more: object) -> Value:
        """`more` is what the value has beyond the shape; without it, its defaults."""
        return self._value(**{**self.read(shape), **more})

    def told(self, value: Value) -> dict[str, Any]:
        """The fields of the shape."""
        return {name: one.told(getattr(value, one.name)) for name, one in self._fields.items()}

    def read(self, shape: Struct) -> dict[str, Any]:
        """The fields of the value."""
        return {one.name: one.read(getattr(shape, name)) for name, one in self._fields.items()}
