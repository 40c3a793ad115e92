"""The number of a partition in a path."""

import pytest

from rota.errors import InvalidInput
from rota.server.routes.partitions import _number


@pytest.mark.parametrize(("text", "expected"), [("0", 0), ("7", 7), ("0000007", 7), ("1000000", 1_000_000)])
def test_a_partition_has_a_number(text: str, expected: int) -> None:
    assert _number(text) == expected


@pytest.mark.parametrize("text", ["1000001", "00000007", "-1", "x", "", "1.5", "9" * 5_000])
def test_what_is_no_number_of_a_partition_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="partition"):
        _number(text)
