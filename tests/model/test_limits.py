"""Bounds on what comes from outside."""

import sys

import pytest

from rota.errors import InvalidInput
from rota.model import limits
from rota.model.limits import MAX_DEPTH, MAX_PAYLOAD_BYTES, check_name, check_payload, check_range, encode_json


def test_the_limits_are_those_that_the_documents_name() -> None:
    assert {name: value for name, value in vars(limits).items() if name.startswith("MAX_")} == {
        "MAX_PAYLOAD_BYTES": 262_144,
        "MAX_RESULT_BYTES": 1_048_576,
        "MAX_DEPTH": 64,
        "MAX_LOG_MESSAGE_BYTES": 16_384,
        "MAX_LOG_ATTEMPT_BYTES": 10_485_760,
        "MAX_NAME_LENGTH": 128,
    }


def nested(depth: int) -> dict[str, object]:
    value: dict[str, object] = {}
    for _ in range(depth - 1):
        value = {"a": value}
    return value


def test_what_fits_is_given_back_as_json() -> None:
    assert check_payload("arguments", {"a": [1, 2.5, None, True, "ü"]}) == '{"a":[1,2.5,null,true,"ü"]}'.encode()


@pytest.mark.parametrize("value", [None, [], "text", 7, 1.5, True])
def test_a_payload_is_an_object(value: object) -> None:
    with pytest.raises(InvalidInput, match="arguments: must be an object"):
        check_payload("arguments", value)


def test_the_payload_may_be_as_large_as_the_limit_and_no_larger() -> None:
    frame = len('{"a":""}')

    check_payload("arguments", {"a": "x" * (MAX_PAYLOAD_BYTES - frame)})
    with pytest.raises(InvalidInput, match="the limit is"):
        check_payload("arguments", {"a": "x" * (MAX_PAYLOAD_BYTES - frame + 1)})


def test_depth_is_bounded() -> None:
    check_payload("arguments", nested(MAX_DEPTH))
    check_payload("arguments", {"a": nested(MAX_DEPTH - 2) | {"n": 1}})
    with pytest.raises(InvalidInput, match="arguments: is nested deeper than 64"):
        check_payload("arguments", nested(MAX_DEPTH + 1))


def test_lists_count_as_depth_too() -> None:
    def listed(depth: int) -> dict[str, object]:
        value: object = []
        for _ in range(depth - 2):
            value = [value]
        return {"a": value}

    check_payload("arguments", listed(64))
    with pytest.raises(InvalidInput, match="arguments: is nested deeper than 64"):
        check_payload("arguments", listed(65))


@pytest.mark.parametrize("number", [-(2**63), 2**64 - 1])
def test_whole_numbers_of_64_bits_are_carried(number: int) -> None:
    assert check_payload("arguments", {"a": number}) == f'{{"a":{number}}}'.encode()


@pytest.mark.parametrize("number", [-(2**63) - 1, 2**64, 10**30])
def test_larger_numbers_are_refused_with_advice(number: int) -> None:
    with pytest.raises(
        InvalidInput, match=r"arguments\.a: is -?\d+, which does not fit into 64 bits; send it as a string"
    ):
        check_payload("arguments", {"a": number})


def test_absurd_depth_is_an_error_and_not_a_crash() -> None:
    with pytest.raises(InvalidInput, match="nested deeper"):
        check_payload("arguments", nested(50_000))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_numbers_that_json_cannot_carry_are_refused_where_they_stand(value: float) -> None:
    with pytest.raises(InvalidInput, match=r"arguments\.a\[1\]\.b"):
        check_payload("arguments", {"a": [0, {"b": value}]})


def test_lone_surrogates_are_refused() -> None:
    with pytest.raises(InvalidInput, match="lone surrogate"):
        check_payload("arguments", {"a": "\ud800"})


@pytest.mark.parametrize("value", [{"a": object()}, {"a": {1, 2}}, {1: "a"}, {"a": 2**70}])
def test_what_is_not_json_is_refused(value: object) -> None:
    with pytest.raises(InvalidInput, match="arguments"):
        check_payload("arguments", value)


def test_any_json_value_can_be_encoded_where_no_object_is_needed() -> None:
    assert encode_json("results", [1, None], 100) == b"[1,null]"


@pytest.mark.parametrize(
    "name",
    [
        "a",
        "report.daily",
        "A_b-c:d/e",
        "_x",
        "9",
        "a" * 128,
        "Nightly report (EU)",
        "Übersicht",
        "日報",
        "e\u0301te\u0301",
        "हिन्दी",
        "한글",
        "⠃⠗",
        "☃",
        "a{b}",
        "50 %",
    ],
)
def test_names_are_what_people_call_things(name: str) -> None:
    assert check_name("name", name) == name


@pytest.mark.parametrize(
    "name",
    [
        "",
        " ",
        " a",
        "a ",
        "-a",
        ".a",
        "/a",
        "a\n",
        "a\tb",
        "a\x7f",
        "a\u200bb",
        "a\u202eb",
        "a\xa0b",
        "\u3164",
        "a\u3164",
        "a\u2800b",
        "\u115fa",
        "a\u1160",
        "a\uffa0",
        "a\ufe0f",
        "a\ufe00b",
        "a\U000e0101",
        "a\u180b",
        "a\u034fb",
        "a\u17b4",
        "\u0301a",
        "\u20dd",
        "\u0903a",
        "a" * 129,
        None,
        7,
    ],
)
def test_other_names_are_refused(name: object) -> None:
    with pytest.raises(InvalidInput, match="is not a name"):
        check_name("name", name)


@pytest.mark.parametrize("value", [True, 1.0, "1", None])
def test_only_whole_numbers_are_numbers(value: object) -> None:
    with pytest.raises(InvalidInput, match="must be a whole number"):
        check_range("priority", value, 0, 10)


@pytest.mark.parametrize("value", [0, 5, 10])
def test_both_bounds_are_within_the_range(value: int) -> None:
    assert check_range("priority", value, 0, 10) == value


@pytest.mark.parametrize("value", [-1, 11])
def test_numbers_out_of_range_are_refused(value: int) -> None:
    with pytest.raises(InvalidInput, match="must be from 0 to 10"):
        check_range("priority", value, 0, 10)


def test_what_is_too_large_is_refused_before_its_values_are_looked_at() -> None:
    many = {"a": [0] * 200_000, "b": [float("nan")]}

    with pytest.raises(InvalidInput, match="bytes as JSON, the limit is"):
        check_payload("arguments", many)


@pytest.mark.parametrize("values", [[0] * 100_000, [[]] * 80_000, [{"": None}] * 20_000, [1.5] * 60_000])
def test_many_values_are_not_looked_at_one_by_one(values: list[object]) -> None:
    calls = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        check_payload("arguments", {"a": values})
    finally:
        sys.setprofile(None)

    assert calls < 1_000


@pytest.mark.parametrize(
    ("bad", "told"),
    [
        (float("nan"), r"arguments\.a\[5000\]: is nan"),
        (2**64, r"arguments\.a\[5000\]: is 18446744073709551616, which does not fit"),
        (-(2**63) - 1, r"arguments\.a\[5000\]: is -9223372036854775809, which does not fit"),
        ({1: 2}, r"arguments\.a\[5000\]: has the key 1"),
        (b"x", r"arguments\.a\[5000\]: is of the type bytes"),
        (nested(MAX_DEPTH - 1), "arguments: is nested deeper than 64"),
    ],
)
def test_one_bad_value_among_many_is_found(bad: object, told: str) -> None:
    with pytest.raises(InvalidInput, match=told):
        check_payload("arguments", {"a": [0] * 5_000 + [bad] + ["x"]})


def test_many_values_may_be_as_deep_as_few() -> None:
    deepest: object = [1, "x", None, True, 2.5] * 1_000
    for _ in range(MAX_DEPTH - 2):
        deepest = [deepest]

    check_payload("arguments", {"a": deepest})
    with pytest.raises(InvalidInput, match="arguments: is nested deeper than 64"):
        check_payload("arguments", {"a": [deepest]})
