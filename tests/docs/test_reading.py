"""The rules by which pages are read: an example that is passed over, or compared too kindly, proves nothing."""

import pytest

from tests.docs.pages import Block, Command, blocks_of, commands_of
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
    text = "$ one \\\n    two\nshown\nmore\n$ say 'a\nb'\n$ last\n"

    assert commands_of(Block("console", text, 1)) == [
        Command("one \\\n    two", ["shown", "more"]),
        Command("say 'a\nb'", []),
        Command("last", []),
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
