"""The native JSON of what a file of definitions changes."""

from typing import Literal

from msgspec import Struct

from rota.engine.definitions.file import Difference
from rota.shapes.codec import Codec


class DifferenceShape(Struct, frozen=True):
    """One definition that the file has otherwise than the installation: the fields that differ, before and after."""

    kind: str
    name: str
    action: Literal["create", "change", "delete"]
    before: dict[str, object]
    after: dict[str, object]


_DIFFERENCE = Codec(Difference, DifferenceShape)
difference_shape = _DIFFERENCE.shape
difference_of = _DIFFERENCE.value
