"""The rules by which pages are read: an example that is passed over, or compared too kindly, proves nothing."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.pages import Block, Command, blocks_of, commands_of
from tests.docs.session import Session
from tests.docs.shown import fits

PAGE = """
Text.

```console
$ one
shown
```

1. In a list:

   ```yaml title="rota.yaml"
   port: 1
     deeper: 2
   ```

<!-- not run: it takes a year -->
```python
print(1)
```
"""


def test_blocks_are_found_with_their_titles_and_reasons() -> None:
    assert list(blocks_of(PAGE)) == [
        Block("console", "$ one\nshown\n", 4),
        Block("yaml", "port: 1\n  deeper: 2\n", 11, title="rota.yaml"),
        Block("python", "print(1)\n", 17, not_run="it takes a year"),
    ]


def test_a_fence_that_is_not_closed_is_an_error() -> None:
    with pytest.raises(AssertionError, match="not closed"):
        list(blocks_of("```console\n$ one\n"))


def test_commands_go_on_behind_a_backslash_and_within_quotes() -> None:
    text = "$ one \\\n    two\nshown\nmore\n$ say 'a\nb'\n$ last  # nobody's\nshown\n"

    assert commands_of(Block("console", text, 1)) == [
        Command("one \\\n    two", ["shown", "more"]),
        Command("say 'a\nb'", []),
        Command("last  # nobody's", ["shown"]),
    ]


@pytest.mark.parametrize(
    ("shown", "output"),
    [
        (["a b"], "a    b  \n"),
        (["a ..."], "a whatever\n"),
        (["...", "end"], "1\n2\nend\n"),
        (["...", "end"], "end\n"),
        (["a", "..."], "a\n"),
        (['{"uuid":"...","new":true}'], '{"uuid":"01","new":true}'),
    ],
)
def test_dots_stand_for_what_differs(shown: list[str], output: str) -> None:
    assert fits(shown, output)


@pytest.mark.parametrize(
    ("shown", "output"),
    [
        (["a"], "a\nb\n"),
        (["a"], "ab\n"),
        (["a", "b"], "b\na\n"),
        (["a ..."], "b whatever\n"),
        (["...", "end"], "the end\n"),
        (["a.c"], "abc\n"),
        (["a"], ""),
    ],
)
def test_what_is_not_shown_does_not_fit(shown: list[str], output: str) -> None:
    assert not fits(shown, output)


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with Session(tmp_path, tmp_path / "programs", port=0) as session:
        yield session


def test_what_a_command_exports_the_next_one_has(session: Session) -> None:
    session.run(Command("export GREETING=hello", []))
    session.run(Command("echo $GREETING; printf world", ["hello", "world"]))


def test_a_command_that_fails_or_prints_something_else_is_told(session: Session) -> None:
    with pytest.raises(AssertionError, match="ended with 3"):
        session.run(Command("(exit 3)", []))
    with pytest.raises(AssertionError, match="does not print what the page shows"):
        session.run(Command("echo one", ["two"]))
    with pytest.raises(AssertionError, match="ended with 1"):
        session.run_python("raise SystemExit(1)", [])


def test_a_node_that_does_not_start_is_told(session: Session) -> None:
    with pytest.raises(AssertionError, match="no-such-folder"):
        session.run(Command("rota up --store sqlite:///no-such-folder/rota.db", []))
