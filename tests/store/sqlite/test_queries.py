"""The queries of the SQLite store: each is in the file of its noun, and only the code of that noun uses it."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import rota.store.sqlite
from rota.store.sqlite.database.queries import SQL, read_queries

ROOM = Path(rota.store.sqlite.__file__).parent
QUERY_FILES = sorted((ROOM / "queries").glob("*.sql"))


def modules_of(noun: str) -> Iterator[Path]:
    yield from (ROOM / noun).glob("*.py")  # of the database itself
    yield from (ROOM / "nouns" / noun).glob("*.py")
    yield from (ROOM / "nouns").glob(f"{noun}.py")


def words_in(module: Path) -> set[str]:
    """Every text in a module, among them the names of the queries that it uses."""
    nodes = ast.walk(ast.parse(module.read_text()))
    return {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}


def queries_used_in(modules: Iterator[Path]) -> set[str]:
    return {word for module in modules for word in words_in(module)} & set(SQL)


@pytest.mark.parametrize("file", QUERY_FILES, ids=lambda file: file.stem)
def test_the_queries_of_a_noun_are_those_that_its_code_uses(file: Path) -> None:
    assert queries_used_in(modules_of(file.stem)) == set(read_queries([file.read_text()]))


def test_no_query_is_used_outside_of_the_nouns() -> None:
    nouns = {module for file in QUERY_FILES for module in modules_of(file.stem)}

    assert queries_used_in(module for module in ROOM.rglob("*.py") if module not in nouns) == set()


def test_each_query_says_what_it_does() -> None:
    for file in QUERY_FILES:
        heads = re.findall(r"^-- name: (\w+)\n(.*)$", file.read_text(), re.MULTILINE)
        assert [name for name, comment in heads if not comment.startswith("-- ")] == []


def test_a_name_that_two_queries_have_is_refused() -> None:
    with pytest.raises(ValueError, match="two queries with the name find_job"):
        read_queries(["-- name: find_job\nSELECT 1;", "-- name: find_job\nSELECT 2;"])
