"""Every Lua file says what it takes and gives, its body agrees with that, and no key is built inside it.

Redis Cluster routes a script by its KEYS, so a key that is put together within would be looked for on the wrong node.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

import rota
from rota.store.redis.link.scripts import load_scripts

SCRIPTS = Path(rota.__file__).parent / "store" / "redis" / "scripts"
DIALECTS = Path(rota.__file__).parent / "dialects"

_ENTRY = re.compile(r"(KEYS|ARGV)\[(\d+)(\.\.\.)?\]\s+\S")
_SECTION = re.compile(r"(KEYS|ARGV)\b|Returns\b|include: ")
_TOKEN = re.compile(
    r"""(?P<skip>\s+|--\[\[.*?\]\]|--[^\n]*)|(?P<string>'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|\[\[.*?\]\])
    |(?P<name>[A-Za-z_]\w*)|(?P<number>\d[\w.]*)|(?P<sign>\.\.\.|\.\.|==|~=|<=|>=|.)""",
    re.VERBOSE | re.DOTALL,
)
_KEYLESS = {"TIME", "PUBLISH"}
_FIRST_KEY_AT = {"OBJECT": 2, "MEMORY": 2, "XGROUP": 2, "XINFO": 2, "ZMPOP": 2, "LMPOP": 2}
_ALL_KEYS = {"DEL", "UNLINK", "EXISTS", "TOUCH", "MGET"}
_TWO_KEYS = {"RENAME", "RENAMENX", "COPY", "LMOVE", "SMOVE", "RPOPLPUSH"}
_OPEN, _CLOSE = {"(", "[", "{"}, {")", "]", "}"}


# -- the header ----------------------------------------------------------------------------------------------------


class Header(NamedTuple):
    """The comment lines that open a file, without their dashes."""

    purpose: str
    sections: list[str]
    """One text per KEYS, ARGV, Returns and include, continuation lines joined."""

    @classmethod
    def of(cls, text: str) -> "Header":
        paragraphs = [""]
        for line in text.splitlines():
            if not line.startswith("--"):
                break
            words = line.removeprefix("--").strip()
            if not words or _SECTION.match(words):
                paragraphs.append(words)
            else:
                paragraphs[-1] = f"{paragraphs[-1]} {words}".strip()
        return cls(paragraphs[0], [paragraph for paragraph in paragraphs[1:] if paragraph])

    def entries(self, kind: str) -> list[tuple[int, bool]]:
        """The places that KEYS or ARGV has: number, and whether it is the tail from there on."""
        found = [_ENTRY.match(section) for section in self.sections]
        return [(int(match[2]), bool(match[3])) for match in found if match and match[1] == kind]


def header_faults(text: str) -> Iterator[str]:
    header = Header.of(text)
    if not re.match(r"[A-Z].*\.$", header.purpose):
        yield "does not open with a sentence that says what it does"
    kinds = [re.split(r"\W", section)[0] for section in header.sections]
    if kinds != sorted(kinds, key=["KEYS", "ARGV", "Returns", "include"].index):
        yield "does not list KEYS, ARGV, Returns in this order"
    for kind in ("KEYS", "ARGV", "Returns"):
        if kind not in kinds:
            yield f"has no {kind} in its header"
    for section in header.sections:
        if section.startswith(("KEYS", "ARGV")) and not _ENTRY.match(section) and section != "ARGV none":
            yield f"has a line that cannot be read: {section}"
    for kind in ("KEYS", "ARGV"):
        yield from _number_faults(kind, header.entries(kind))


def _number_faults(kind: str, entries: list[tuple[int, bool]]) -> Iterator[str]:
    if [number for number, _ in entries] != list(range(1, len(entries) + 1)):
        yield f"does not number its {kind} 1, 2, 3 ..."
    if any(is_tail for _, is_tail in entries[:-1]):
        yield f"has {kind} behind a tail"


# -- the body ------------------------------------------------------------------------------------------------------


class Token(NamedTuple):
    kind: str
    text: str
    line: int


def tokens_of(text: str) -> list[Token]:
    found, line = [], 1
    for match in _TOKEN.finditer(text):
        if match.lastgroup != "skip":
            found.append(Token(str(match.lastgroup), match[0], line))
        line += match[0].count("\n")
    return found


def use_faults(text: str) -> Iterator[str]:
    """Where header and body do not agree on KEYS and ARGV."""
    header, tokens = Header.of(text), tokens_of(text)
    for kind in ("KEYS", "ARGV"):
        entries = header.entries(kind)
        named = {number for number, is_tail in entries if not is_tail}
        tail = next((number for number, is_tail in entries if is_tail), None)
        used = _used_places(tokens, kind)
        numbers = {place for place in used if place is not None}
        for number in sorted(numbers - named):
            if tail is None or number < tail:
                yield f"uses {kind}[{number}], which is not in its header"
        for number in sorted(named - numbers):
            yield f"does not use {kind}[{number}], which is in its header"
        if None in used and tail is None:
            yield f"uses {kind} by a computed number, but its header has no {kind}[n...]"
        if tail is not None and None not in used and not any(number >= tail for number in numbers):
            yield f"does not use {kind}[{tail}...], which is in its header"


def _used_places(tokens: list[Token], kind: str) -> set[int | None]:
    """The numbers by which it is indexed; None for any other use, such as `ARGV[i]`, `#ARGV` or `ipairs(KEYS)`."""
    used: set[int | None] = set()
    for at, token in enumerate(tokens):
        if token.text == kind:
            following = [token.text for token in tokens[at + 1 : at + 4]]
            is_literal = len(following) == 3 and following[0] == "[" and following[2] == "]" and following[1].isdigit()
            used.add(int(following[1]) if is_literal else None)
    return used


# -- keys ----------------------------------------------------------------------------------------------------------


class Function(NamedTuple):
    name: str
    parameters: list[str]
    start: int
    end: int


class Body:
    """The code of a script with its includes, as far as it takes to see where keys come from."""

    def __init__(self, text: str) -> None:
        self.tokens = tokens_of(text)
        self.functions = list(self._functions())
        self.key_names = self._key_names()
        self._key_parameters: set[tuple[str, int]] = set()

    def key_faults(self) -> list[str]:
        """Calls of Redis whose key is not one of KEYS, directly or through a function's parameter."""
        faults = list(self._call_faults())
        checked: set[tuple[str, int]] = set()
        while todo := self._key_parameters - checked:
            for name, position in todo:
                faults += self._parameter_faults(name, position)
            checked |= todo
        return faults

    def _call_faults(self) -> Iterator[str]:
        for at, token in enumerate(self.tokens):
            if token.text not in ("call", "pcall") or self._text(at - 2) != "redis":
                continue
            arguments = self._arguments(at + 1)
            if not arguments or [found.kind for found in arguments[0]] != ["string"]:
                yield f"line {token.line}: redis.{token.text} must be called with a literal command"
                continue
            command = arguments[0][0].text[1:-1].upper()
            for key in _key_arguments(command, arguments):
                if not self._is_key(key, at):
                    yield f"line {token.line}: the key of {command} is {_shown(key)}, not one of KEYS"

    def _parameter_faults(self, name: str, position: int) -> Iterator[str]:
        for at, token in enumerate(self.tokens):
            if token.text != name or self._text(at + 1) != "(" or self._text(at - 1) == "function":
                continue
            arguments = self._arguments(at + 1)
            key = arguments[position] if position < len(arguments) else []
            if not self._is_key(key, at):
                yield f"line {token.line}: {name} takes a key, but is given {_shown(key)}"

    def _is_key(self, expression: list[Token], at: int) -> bool:
        if _is_keys_index(expression):
            return True
        if len(expression) != 1 or expression[0].kind != "name":
            return False
        name = expression[0].text
        for function in sorted(self.functions, key=lambda function: function.start, reverse=True):
            if function.start <= at < function.end and name in function.parameters:
                self._key_parameters.add((function.name, function.parameters.index(name)))
                return True
        return name in self.key_names

    def _functions(self) -> Iterator[Function]:
        for at, token in enumerate(self.tokens):
            if token.text == "function" and self._text(at + 2) == "(":
                parameters = [argument[0].text for argument in self._arguments(at + 2)]
                yield Function(self._text(at + 1), parameters, at, self._end_of_block(at))

    def _end_of_block(self, start: int) -> int:
        depth = 0
        for at in range(start, len(self.tokens)):
            depth += self._text(at) in ("function", "if", "do")
            depth -= self._text(at) == "end"
            if depth == 0:
                return at
        return len(self.tokens)

    def _key_names(self) -> set[str]:
        """Names that stand for one of KEYS wherever they get a value."""
        bound = list(self._bindings())
        return {name for name, is_key in bound if is_key} - {name for name, is_key in bound if not is_key}

    def _bindings(self) -> Iterator[tuple[str, bool]]:
        """Every name that gets a value, and whether that is one of KEYS."""
        braces = 0
        for at, token in enumerate(self.tokens):
            braces += (token.text == "{") - (token.text == "}")
            if token.text == "=" and not braces:
                names = self._names_before(at)
                given = self._expressions(at + 1)
                for number, name in enumerate(names):
                    yield name, number < len(given) and _is_keys_index(given[number])
            elif token.text == "in":
                *_, last = names = self._names_before(at)
                over = [found.text for found in self.tokens[at + 1 : at + 5]]
                yield from ((name, name == last and over == ["ipairs", "(", "KEYS", ")"]) for name in names)

    def _names_before(self, at: int) -> list[str]:
        """The names on the left of `=` or `in`; a field or an index binds no name."""
        names: list[str] = []
        while self.tokens[at - 1].kind == "name" and self._text(at - 2) != ".":
            names.insert(0, self._text(at - 1))
            if self._text(at - 2) != ",":
                break
            at -= 2
        return names or [""]

    def _expressions(self, at: int) -> list[list[Token]]:
        """The expressions from here to the end of the statement, which is where a line ends outside of brackets."""
        found: list[list[Token]] = [[]]
        depth, line = 0, self.tokens[at].line
        for token in self.tokens[at:]:
            if not depth and token.line != line and found[-1] and token.text not in ("..", "and", "or"):
                break
            line = token.line
            depth += (token.text in _OPEN) - (token.text in _CLOSE)
            if token.text == "," and not depth:
                found.append([])
            else:
                found[-1].append(token)
        return found

    def _arguments(self, at: int) -> list[list[Token]]:
        """The arguments in the brackets that open here."""
        found: list[list[Token]] = [[]]
        if self._text(at) != "(":
            return []
        depth = 0
        for token in self.tokens[at:]:
            depth += (token.text in _OPEN) - (token.text in _CLOSE)
            if depth == 0:
                break
            if token.text == "," and depth == 1:
                found.append([])
            else:
                found[-1].append(token)
        found[0] = found[0][1:]
        return found if found != [[]] else []

    def _text(self, at: int) -> str:
        return self.tokens[at].text if 0 <= at < len(self.tokens) else ""


def _key_arguments(command: str, arguments: list[list[Token]]) -> list[list[Token]]:
    first = _FIRST_KEY_AT.get(command, 1)
    if command in _KEYLESS:
        return []
    if command in _ALL_KEYS:
        return arguments[1:] or [[]]
    if command in _TWO_KEYS:
        return arguments[1:3]
    return arguments[first : first + 1] or [[]]


def _is_keys_index(expression: list[Token]) -> bool:
    """`KEYS[...]`, and nothing behind the bracket."""
    texts = [token.text for token in expression]
    if texts[:2] != ["KEYS", "["] or texts[-1] != "]":
        return False
    return texts.count("[") == 1


def _shown(expression: list[Token]) -> str:
    return " ".join(token.text for token in expression) or "missing"


# -- whole files ---------------------------------------------------------------------------------------------------


def faults_of(text: str, includes: dict[str, str]) -> list[str]:
    """All that is wrong with one script."""
    wanted = re.findall(r"^-- include: (\w+)$", text, re.MULTILINE)
    missing = [f"includes {name}, which is not there" for name in wanted if name not in includes]
    whole = "\n".join([text, *(includes[name] for name in wanted if name in includes)])
    return [*missing, *header_faults(text), *use_faults(text), *Body(whole).key_faults()]


FILES = sorted(path for path in SCRIPTS.glob("*/*.lua") if path.parent.name != "includes")


def _texts(folder: Path) -> dict[str, str]:
    return {path.stem: path.read_text() for path in sorted(folder.glob("*.lua"))}


def test_there_are_scripts_and_each_has_a_name_of_its_own() -> None:
    assert FILES
    assert len({path.stem for path in FILES}) == len(FILES) == len(load_scripts())


def test_two_scripts_of_one_name_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for noun in ("jobs", "claims"):
        (tmp_path / "doubled" / "scripts" / noun).mkdir(parents=True)
        (tmp_path / "doubled" / "scripts" / noun / "claim_jobs.lua").write_text("return 1\n")
    monkeypatch.syspath_prepend(tmp_path)

    with pytest.raises(ValueError, match="two scripts of the name claim_jobs"):
        load_scripts("doubled")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_script_agrees_with_its_header_and_builds_no_key(path: Path) -> None:
    assert faults_of(path.read_text(), _texts(SCRIPTS / "includes")) == []


@pytest.mark.parametrize("path", sorted(DIALECTS.glob("**/scripts/*.lua")), ids=lambda path: path.stem)
def test_a_script_of_a_dialect_does_so_too_and_may_use_the_same_includes(path: Path) -> None:
    assert faults_of(path.read_text(), _texts(SCRIPTS / "includes")) == []


@pytest.mark.parametrize("name", _texts(SCRIPTS / "includes"))
def test_an_include_says_what_it_is_and_takes_everything_as_arguments(name: str) -> None:
    text = _texts(SCRIPTS / "includes")[name]

    assert re.match(r"[A-Z].*\.$", Header.of(text).purpose)
    assert not {"KEYS", "ARGV"} & {token.text for token in tokens_of(text)}


# -- the checks themselves -----------------------------------------------------------------------------------------

GOOD = """\
-- Accept jobs into one queue, each once: this is a long sentence that
-- goes on.
--
-- KEYS[1] jobs  hash: job id -> spec
-- KEYS[2...] logs  one list per job,
--   in the order of the entries
-- ARGV[1] now  epoch milliseconds
-- ARGV[2...] entries  per job: id, spec
-- Returns one id per entry.
-- include: wake
local jobs, now = KEYS[1], ARGV[1]
local places = {jobs = {}}
for i = 2, #KEYS do
  local log = KEYS[i]
  -- a comment with KEYS[9]
  redis.call('RPUSH', log, 'KEYS[9]' .. ARGV[i] .. now)
  redis.call('UNLINK', log, KEYS[i - 1])
end
signal(jobs)
return redis.call('HLEN', jobs) + redis.call('time')[1]
"""
WAKE = "-- Signal.\nlocal function signal(wake)\n  redis.call('RPUSH', wake, '1')\nend\n"


def faults_with(old: str, new: str, wake: str = WAKE) -> list[str]:
    assert old in GOOD

    return faults_of(GOOD.replace(old, new), {"wake": wake})


def test_a_good_script_has_no_faults() -> None:
    assert faults_of(GOOD, {"wake": WAKE}) == []


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("-- Accept jobs", "-- accept jobs", "does not open with a sentence that says what it does"),
        ("-- goes on.", "-- goes on", "does not open with a sentence that says what it does"),
        ("-- Returns one id per entry.\n", "", "has no Returns in its header"),
        ("-- ARGV[1] now", "-- ARGV[1]now", "has a line that cannot be read: ARGV[1]now  epoch milliseconds"),
        ("-- KEYS[2...]", "-- KEYS[3...]", "does not number its KEYS 1, 2, 3 ..."),
        ("-- ARGV[1] now", "-- ARGV[1...] now", "has ARGV behind a tail"),
        ("-- KEYS[1] jobs", "-- Returns nothing.\n-- KEYS[1] jobs", "does not list KEYS, ARGV, Returns in this order"),
        ("return ", "local x = KEYS[0]\nreturn ", "uses KEYS[0], which is not in its header"),
        ("now = KEYS[1], ARGV[1]", "now = KEYS[1], 1", "does not use ARGV[1], which is in its header"),
        ("-- KEYS[2...] logs", "-- KEYS[2] log", "uses KEYS by a computed number, but its header has no KEYS[n...]"),
        (".. ARGV[i] ..", "..", "does not use ARGV[2...], which is in its header"),
        ("-- include: wake", "-- include: sleep", "includes sleep, which is not there"),
        ("'HLEN', jobs", "'HLEN', 'jobs'", "line 20: the key of HLEN is 'jobs', not one of KEYS"),
        ("'RPUSH', log", "'RPUSH', jobs .. ':log'", "line 16: the key of RPUSH is jobs .. ':log', not one of KEYS"),
        ("log, KEYS[i - 1]", "log, now", "line 17: the key of UNLINK is now, not one of KEYS"),
        ("local log = KEYS[i]", "local log = KEYS[i] .. 'x'", "line 16: the key of RPUSH is log, not one of KEYS"),
        (
            "local log = KEYS[i]",
            "local log = KEYS[i]\n  log = log .. 'x'",
            "line 17: the key of RPUSH is log, not one of KEYS",
        ),
        ("signal(jobs)", "signal('a' .. 'b')", "line 19: signal takes a key, but is given 'a' .. 'b'"),
        ("signal(jobs)", "signal()", "line 19: signal takes a key, but is given missing"),
        (
            "redis.call('HLEN', jobs)",
            "redis.call(now, jobs)",
            "line 20: redis.call must be called with a literal command",
        ),
        ("redis.call('HLEN', jobs)", "f(redis.call)", "line 20: redis.call must be called with a literal command"),
    ],
)
def test_a_fault_is_found(old: str, new: str, fault: str) -> None:
    assert fault in faults_with(old, new)


def test_a_key_is_followed_through_functions() -> None:
    through = WAKE + "local function twice(a, key)\n  signal(key)\n  signal(key)\nend\n"

    assert faults_with("signal(jobs)", "twice(now, jobs)", through) == []
    assert "line 19: twice takes a key, but is given now" in faults_with("signal(jobs)", "twice(jobs, now)", through)


def test_a_script_without_arguments_says_so() -> None:
    text = (
        "-- Count jobs.\n--\n-- KEYS[1] jobs\n-- ARGV none\n-- Returns a number.\nreturn redis.call('HLEN', KEYS[1])\n"
    )

    assert faults_of(text, {}) == []
    assert faults_of(text.replace("-- ARGV none\n", ""), {}) == ["has no ARGV in its header"]
