"""How many values a body holds, told before it is decoded: decoding holds the interpreter, and millions of values in a
body of few megabytes would hold it for seconds. Text is not counted, however long."""

from rota.errors import InvalidInput

MAX_VALUES = 500_000
_SLICE = 1024 * 1024


def check_values(raw: bytes) -> None:
    """Refuse a body with more values than one call may have. Takes long only if there may be too many, and lets
    others run meanwhile: it belongs in a thread."""
    if _commas(raw, 0, len(raw)) > MAX_VALUES and _commas_outside_of_text(raw) > MAX_VALUES:
        raise InvalidInput("body", f"holds more than {MAX_VALUES:,} values; send fewer in one call")


def _commas(raw: bytes, start: int, end: int) -> int:
    """Values without commas between them are nested, and the depth has a limit of its own."""
    return sum(raw.count(b",", at, min(at + _SLICE, end)) for at in range(start, end, _SLICE))


def _commas_outside_of_text(raw: bytes) -> int:
    at = count = 0
    while count <= MAX_VALUES:
        quote = raw.find(b'"', at)
        count += _commas(raw, at, len(raw) if quote < 0 else quote)
        if quote < 0:
            break
        at = _end_of_text(raw, quote + 1)
    return count


def _end_of_text(raw: bytes, at: int) -> int:
    """Behind the quotation mark that ends the text which began at a place: one with an even number of backslashes."""
    while (quote := raw.find(b'"', at)) >= 0:
        before = raw[max(at, quote - _SLICE) : quote]
        if (len(before) - len(before.rstrip(b"\\"))) % 2 == 0:
            return quote + 1
        at = quote + 1
    return len(raw)
