"""Small pieces of English: lists, ordinals, names of days and months."""

from collections.abc import Sequence

MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
WEEKDAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
NTH = ("", "first", "second", "third", "fourth", "fifth")


def join_words(words: Sequence[str], last: str = "and") -> str:
    """`a`, `a and b`, `a, b and c`."""
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} {last} {words[-1]}"


def stretches(values: Sequence[int]) -> list[tuple[int, int]]:
    """Single values as they are, three or more in a row as the first and the last of them: 1-5, 9, 20."""
    rows: list[list[int]] = []
    for value in values:
        if rows and value == rows[-1][-1] + 1:
            rows[-1].append(value)
        else:
            rows.append([value])
    return [pair for row in rows for pair in ([(row[0], row[-1])] if len(row) > 2 else [(one, one) for one in row])]


def list_words(values: Sequence[int], said: str = "{}") -> str:
    """`1 to 5, 10 to 15 and 20`; `said` is how one of them is written."""
    pairs = [(said.format(first), said.format(last)) for first, last in stretches(values)]
    return join_words([first if first == last else f"{first} to {last}" for first, last in pairs])


def ordinal(number: int) -> str:
    """`1st`, `2nd`, `11th`."""
    if number % 100 in (11, 12, 13):
        return f"{number}th"
    return f"{number}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th') }"
