"""What is typed into the search of jobs: `state:failed type:sync after:1h "some text"`, as conditions of the API.

`-state:succeeded` leaves those jobs out."""

import shlex

from msgspec import Struct

from rota.errors import InvalidInput
from rota.model.job import JobState
from rota.model.triggers.durations import parse_duration
from rota.model.triggers.zones.dates import parse_instant

_FIELDS = {
    "state": "state",
    "type": "job_type",
    "queue": "queue",
    "schedule": "schedule",
    "node": "node",
    "after": "since",
    "before": "until",
}
QUALIFIERS = tuple(_FIELDS)
NOT_STATE = "-state"
_ENDS_WORDS = frozenset(" \t\r\n\"'\\")


class Search(Struct, frozen=True):
    conditions: dict[str, object]
    """Parameters of `GET /api/jobs`, and fields of a bulk change."""
    problem: str = ""
    """Why it cannot be searched for this."""


def read_search(text: str, now: int) -> Search:
    """Words with a known name before a colon are conditions, the others are looked for as text."""
    conditions: dict[str, object] = {}
    words: list[str] = []
    left_out: list[str] = []
    try:
        for word in _split(text):
            name, colon, value = word.partition(":")
            if colon and value and name == NOT_STATE:
                left_out += value.split(",")
            elif colon and value and name in _FIELDS:
                _add(conditions, name, value, now)
            else:
                words.append(word)
        if left_out:
            conditions["state"] = _others(conditions.get("state"), left_out)
    except InvalidInput as error:
        return Search({}, str(error))
    if words:
        conditions["search"] = " ".join(words)
    return Search(conditions)


def with_state(text: str, state: str) -> str:
    """The same search, but for jobs in this state, or in any if there is none."""
    others = [word for word in _split(text) if not word.startswith(("state:", f"{NOT_STATE}:"))]
    return " ".join(map(as_word, [*([f"state:{state}"] if state else []), *others]))


def _add(conditions: dict[str, object], name: str, value: str, now: int) -> None:
    field = _FIELDS[name]
    if name == "state":
        states = conditions.setdefault(field, [])
        assert isinstance(states, list)
        states += value.split(",")
    elif field in conditions:
        raise InvalidInput(name, "is given twice")
    else:
        conditions[field] = _instant(name, value, now) if field in ("since", "until") else value


def _others(states: object, left_out: list[str]) -> list[str]:
    """The states that are wanted, or all, but for those that are not."""
    wanted = states if isinstance(states, list) else [state.value for state in JobState]
    unknown = set(left_out) - {state.value for state in JobState}
    if unknown:
        raise InvalidInput(NOT_STATE, f"{min(unknown)!r} is no state; say one of {', '.join(JobState)}")
    if not set(wanted) - set(left_out):
        raise InvalidInput(NOT_STATE, "leaves out every state that is asked for")
    return [state for state in wanted if state not in left_out]


def _instant(name: str, value: str, now: int) -> int:
    """`1h` is an hour ago; else an instant, in UTC unless it says more."""
    if value[-1:].isalpha() and value[:1].isdigit() and "T" not in value and not value.endswith("Z"):
        return max(now - parse_duration(name, value), 0)
    return parse_instant(name, value, "UTC")


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text, posix=True)
    except ValueError:  # a quotation mark without its other one is a letter
        return text.split()


def as_word(text: str) -> str:
    """A text so that it is read as one word, whatever is in it."""
    if text and not _ENDS_WORDS.intersection(text):
        return text
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
