"""Bodies with too many values are refused; text counts for nothing."""

import pytest

from rota.errors import InvalidInput
from rota.shapes import values as body_values
from rota.shapes.values import count_values


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(body_values, "MAX_VALUES", 10)
    monkeypatch.setattr(body_values, "_SLICE", 8)


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"[0,1,2,3,4,5,6,7,8,9,10]",
        b'["' + b"," * 1_000 + b'"]',
        rb'["a\"' + b"," * 1_000 + rb'", "\\", "\\\",,,,,,,,,,,,", 1]',
        b'{"a,b,c,d": ",,,,,,,,,,,,,,,,", "b": [1, 2]}',
        b'[",,,,", 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]',
        b'"never ends,,,,,,,,,,,,,,,,,,,',
    ],
)
def test_few_values_pass_whatever_is_in_their_text(raw: bytes) -> None:
    count_values(raw)


@pytest.mark.parametrize(
    "raw",
    [
        b"[0,1,2,3,4,5,6,7,8,9,10,11]",
        b'["a",' + b"0," * 11 + b"0]",
        rb'["\\",' + b"0," * 11 + b"0]",
        rb'["abcd\\",' + b"0," * 11 + b"0]",
        b'{"a": "' + b"," * 20 + b'", "b": [' + b"0," * 11 + b"0]}",
    ],
)
def test_many_values_are_refused(raw: bytes) -> None:
    with pytest.raises(InvalidInput, match="more than 10 values"):
        count_values(raw)
