"""The tables of dangerous changes: `<area>.toml` in this folder, read strictly and checked against the code.

A table whose `old` is no longer in the code, or whose tests are gone, proves nothing any more; `test_tables.py` holds
every entry to what `faults_of` says.
"""

import re
import shlex
import sys
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

FOLDER = Path(__file__).parent
ROOT = FOLDER.parents[1]
_OPTIONS_WITH_A_VALUE = ("-k", "-m")


class Mutant(Struct, frozen=True, forbid_unknown_fields=True):
    """One dangerous change and the tests that must notice it."""

    what: str
    """What goes wrong, as a sentence."""
    file: str
    old: str
    """Occurs exactly once in the file."""
    new: str
    tests: str
    """Arguments for pytest."""
    survives: str = ""
    """Why nothing can notice it."""
    hangs: bool = False
    """The tests do not fail but never end; only then is a time-out a verdict."""
    python: str = ""
    """The first one on which its tests run, such as "3.12", unless they run on all."""
    last_python: str = ""
    """The last one on which it does any harm, unless it does on all: newer ones do by themselves what it takes away."""
    area: str = ""
    """The name of its table; not written there."""

    @property
    def runs_here(self) -> bool:
        here = sys.version_info[:2]
        return here >= _version(self.python or "3.0") and here <= _version(self.last_python or "3.999")


def _version(python: str) -> tuple[int, ...]:
    return tuple(map(int, python.split(".")))


class _Table(Struct, forbid_unknown_fields=True):
    mutant: list[Mutant]


def area_files(folder: Path = FOLDER) -> list[Path]:
    return sorted(folder.glob("*.toml"))


def read_table(path: Path) -> list[Mutant]:
    """All entries of one area. Raises ValueError, with the file's name, for what is no table."""
    try:
        table = msgspec.convert(tomllib.loads(path.read_text()), _Table)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise ValueError(f"{path.name} is no table of mutants: {error}") from error
    return [msgspec.structs.replace(mutant, area=path.stem) for mutant in table.mutant]


def read_tables(folder: Path = FOLDER) -> list[Mutant]:
    """All entries of all areas, those of one file together."""
    found = [mutant for path in area_files(folder) for mutant in read_table(path)]
    return sorted(found, key=lambda mutant: (mutant.file, mutant.area))


def faults_of(mutant: Mutant, root: Path = ROOT) -> Iterator[str]:
    """What is wrong with an entry itself, whether or not its tests would notice it."""
    if not mutant.what.strip():
        yield "says nothing about what goes wrong"
    if mutant.old == mutant.new:
        yield "changes nothing: old and new are the same"
    for python in filter(None, (mutant.python, mutant.last_python)):
        if not re.fullmatch(r"3\.\d+", python):
            yield f"{python!r} is no Python; write it as '3.12'"
    yield from _faults_of_file(mutant, root / mutant.file)
    yield from _faults_of_tests(mutant, root)


def _faults_of_file(mutant: Mutant, path: Path) -> Iterator[str]:
    if not path.is_file():
        yield f"{mutant.file} does not exist"
        return
    text = path.read_text()
    times = text.count(mutant.old) if mutant.old else 0
    if times != 1:
        yield f"old occurs {times} times in {mutant.file}, not once"
    elif path.suffix == ".py":
        try:
            compile(text.replace(mutant.old, mutant.new), mutant.file, "exec")
        except SyntaxError as error:
            yield f"new makes {mutant.file} no Python: {error}"


def _faults_of_tests(mutant: Mutant, root: Path) -> Iterator[str]:
    places = files_of_tests(mutant.tests)
    if not places:
        yield "names no tests"
    for place in places:
        if not (root / place).exists():
            yield f"{place} does not exist"


def files_of_tests(arguments: str) -> Sequence[str]:
    """The files and folders among arguments for pytest."""
    return [place.partition("::")[0] for place in _parsed(arguments).places]


def together(arguments: Sequence[str]) -> dict[str, list[str]]:
    """Arguments for pytest that run the tests of many, by file, and for each which they stand for."""
    groups: dict[tuple[object, ...], list[str]] = {}
    for one in dict.fromkeys(arguments):
        parsed = _parsed(one)
        groups.setdefault((*files_of_tests(one), bool(parsed.word), *parsed.others), []).append(one)
    return {_joined([_parsed(one) for one in members]): members for members in groups.values()}


class _Parsed(Struct, frozen=True):
    places: tuple[str, ...]
    word: str
    """Behind -k."""
    others: tuple[str, ...]


def _parsed(arguments: str) -> _Parsed:
    places: list[str] = []
    others: list[str] = []
    word = ""
    words = iter(shlex.split(arguments))
    for one in words:
        if one == "-k":
            word = next(words, "")
        elif one in _OPTIONS_WITH_A_VALUE:
            others += [one, next(words, "")]
        else:
            (others if one.startswith("-") else places).append(one)
    return _Parsed(tuple(places), word, tuple(others))


def _joined(members: Sequence[_Parsed]) -> str:
    places = dict.fromkeys(place for one in members for place in one.places)
    chosen = " or ".join(f"({one.word})" for one in members) if members[0].word else ""
    return shlex.join([*places, *(["-k", chosen] if chosen else []), *members[0].others])
