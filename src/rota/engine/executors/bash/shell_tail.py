"""Whether words may be put after a shell command, as arguments of its last part.

`ls -l` takes words. After `make &`, `A=1` or a comment they would be lost, or worse: the first word would be run as a
command. This reads as much of the shell's grammar as that question needs; when in doubt the answer is no.
"""

import re
from functools import lru_cache

_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*(\[[^\]]*\])?\+?=")
_REDIRECTION = re.compile(r"(\d*(?:&>>?|>>|>\||>&|<<<|<>|<&|[<>]))")
_MAY_VANISH = re.compile(r"(?:\$(?:\(\)|\w+|[!@*])?|\{[^}]*\})+")
"""Expansions outside quotes: empty ones leave no word behind."""
_SUBSCRIPT = re.compile(r"[A-Za-z_]\w*\[")
"""The beginning of an assignment to an array, whose subscript may be any expression; hardly ever one of a command."""
_QUOTED_LIST = re.compile(r'[^"]*\$(?:@|\{[^"]*@)')
"""The rest of a quotation with a list in it, which leaves no word behind either when it is empty."""
_QUOTED = "\x01"
"""Stands for a quotation."""
_OPENERS = frozenset({"!", "{", "if", "then", "elif", "else", "while", "until", "do"})
_PREFIXES = frozenset({"time", "coproc", "exec", "command", "builtin"})
"""They run the words behind them as a command, and may have options of their own before it."""
_EVALUATORS = frozenset(
    [
        "eval",
        "trap",
        "source",
        ".",
        "let",
        "declare",
        "typeset",
        "local",
        "readonly",
        "export",
        "unset",
        "read",
        "mapfile",
        "readarray",
        "test",
        "[",
        "[[",
        "wait",
        "getopts",
        "enable",
        "compgen",
        "complete",
        "bind",
        "jobs",
        "fc",
        "hash",
    ]
)
"""Of the shell itself: they take words for source, or for places in arrays, whose subscripts are run."""
_FORMATTER = "printf"
"""The same, unless its format is there: before it, a word may be the option that names a place."""
_RUNNERS = frozenset(
    [
        "env",
        "nohup",
        "setsid",
        "stdbuf",
        "nice",
        "ionice",
        "timeout",
        "xargs",
        "sudo",
        "doas",
        "chroot",
        "unshare",
        "taskset",
    ]
)
"""Programs that run the words behind their options."""
_OF_RUNNER = re.compile(r"-.*|[0-9.]+[smhd]?|[A-Za-z_]\w*=.*", re.DOTALL)
"""What is no command behind a runner: options, numbers that they take, assignments."""
_OPTION = re.compile("-.*", re.DOTALL)
_IN_DOUBT = re.compile(rf"-\w*a|[${_QUOTED}]")
"""Behind a prefix: an option that takes a word (`exec -a`), or what may be an option once it is expanded."""
_CLOSERS = frozenset({"}", "fi", "done", "esac", "()"})


@lru_cache(maxsize=1024)
def why_no_words(command: str) -> str | None:
    """Why words cannot follow this command; None when they can."""
    try:
        words = _words_of(_Reader(command.rstrip()).read())
    except ValueError as problem:
        return str(problem)
    if not words:
        return "it ends where another command would begin"
    if words[0] in _CLOSERS:
        return f"it ends with {'a subshell' if words[0] == '()' else repr(words[0])}"
    if words[0] in _EVALUATORS or (words[0] == _FORMATTER and not _has_operand(words[1:], _OPTION)):
        return f"{words[0]!r} would run them, or parts of them"
    if words[0] in _RUNNERS and not _has_operand(words[1:], _OF_RUNNER):
        return f"{words[0]!r} would run the first of them"
    return None


def _has_operand(words: list[str], others: re.Pattern[str]) -> bool:
    """Whether one of these is there for certain, and none of the others."""
    return any(not others.fullmatch(word) and not _MAY_VANISH.fullmatch(word) for word in words)


def _words_of(tail: str) -> list[str]:
    """The words of a simple command, from its name on. What stands before the name, and redirections, are left out."""
    words: list[str] = []
    is_target = has_prefix = False
    for token in _REDIRECTION.sub(r" \1 ", tail).split():
        if _REDIRECTION.fullmatch(token):
            is_target = True
        elif is_target:
            is_target = False
        elif words:
            words.append(token)
        elif has_prefix and _IN_DOUBT.match(token):
            raise ValueError("what it runs is not plain to see")
        elif has_prefix and token.startswith("-"):
            pass  # an option of the prefix
        elif token in _PREFIXES:
            has_prefix = True
        elif _SUBSCRIPT.match(token):
            raise ValueError("it may end with an assignment")
        elif not (token in _OPENERS or _ASSIGNMENT.match(token) or _MAY_VANISH.fullmatch(token)):
            words.append(token)
    return words


class _Reader:
    """Reads a script and keeps the text of its last simple command, with quotations and parentheses as marks."""

    def __init__(self, script: str) -> None:
        self._script = script
        self._at = 0
        self._closers: list[str] = []
        """What ends each quotation or parenthesis that is open, the innermost last."""
        self._tails = [""]
        """The last command so far of the script and of each open parenthesis."""

    def read(self) -> str:
        while self._at < len(self._script):
            if self._closers and self._closers[-1] in '"}':
                self._read_quoted()
            else:
                self._read_plain()
        if self._closers:
            raise ValueError(f"it lacks a closing {self._closers[-1]}")
        return self._tails[0]

    def _read_quoted(self) -> None:
        char = self._take()
        if char == "\\":
            self._take()
        elif char == self._closers[-1]:
            self._closers.pop()
        elif char == "$":
            self._read_dollar()
        elif char == "`":
            self._skip_to("`", escapes=True)
        elif char == '"':
            self._closers.append('"')

    def _read_plain(self) -> None:
        before = self._script[self._at - 1] if self._at else " "
        char = self._take()
        after = self._script[self._at : self._at + 1]
        if char == "\\":
            self._read_escape()
        elif char in "'`\"":
            self._read_quote(char, before)
        elif char == "$":
            self._tails[-1] += "$"
            self._read_dollar()
        elif char == "#" and before in " \t\n;&|(":
            self._skip_comment()
        elif char in "()":
            self._read_parenthesis(char)
        elif char in ";\n" or (char == "|" and before != ">") or (char == "&" and before not in "<>" and after != ">"):
            self._tails[-1] = ""
        else:
            self._tails[-1] += char
            if char == "<" and after == "<" and before != "<" and self._script[self._at + 1 : self._at + 2] != "<":
                raise ValueError("it has a here-document")

    def _read_escape(self) -> None:
        if not (escaped := self._take()):
            raise ValueError("it ends with a backslash")
        if escaped != "\n":
            self._tails[-1] += _QUOTED

    def _read_quote(self, char: str, before: str) -> None:
        may_vanish = char == "`" or (char == '"' and _QUOTED_LIST.match(self._script, self._at))
        self._tails[-1] += "$()" if may_vanish else _QUOTED
        if char == '"':
            self._closers.append('"')
        else:
            self._skip_to(char, escapes=char == "`" or before == "$")

    def _read_dollar(self) -> None:
        if self._script.startswith("{", self._at):
            self._closers.append("}")
            self._at += 1
        elif self._script.startswith("(", self._at):
            self._at += 1
            self._read_parenthesis("(")

    def _read_parenthesis(self, char: str) -> None:
        if char == "(":
            self._closers.append(")")
            self._tails.append("")
        elif self._closers:
            self._closers.pop()
            self._tails.pop()
            self._tails[-1] += "()"
        else:  # the pattern of a `case`
            self._tails[-1] = ""

    def _skip_comment(self) -> None:
        end = self._script.find("\n", self._at)
        if end < 0:
            raise ValueError("it ends with a comment")
        self._at = end

    def _skip_to(self, end: str, *, escapes: bool) -> None:
        while char := self._take():
            if char == "\\" and escapes:
                self._take()
            elif char == end:
                return
        raise ValueError(f"it lacks a closing {end}")

    def _take(self) -> str:
        char = self._script[self._at : self._at + 1]
        self._at += 1
        return char
