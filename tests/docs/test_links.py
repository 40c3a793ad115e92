"""What the documents point to is there: pages, headings, files of the source, settings, commands."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from rota.cli.main import cli
from rota.settings.fields import FIELDS, SECTIONS
from tests.docs.pages import ROOT, all_pages, blocks_of, example_pages, name_of, prose_of

_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#{1,6} +(.+?) *#*$", re.MULTILINE)
_PATH = re.compile(r"`((?:[\w.-]+/)+[\w.-]+\.(?:py|sql|lua|toml|yaml|yml|rb|svg|md))`")
_NAME = re.compile(r"`(\w+\.(?:py|sql|lua))`")
_SOURCES = (ROOT, ROOT / "src/rota", ROOT / "src/rota/store", ROOT / "src/rota/store/redis/scripts")
"""Where a file is that a document names, beside the document's own folder."""


def links_of(page: Path) -> Iterator[str]:
    for target in _LINK.findall(prose_of(page.read_text())):
        if not re.match(r"[a-z]+:", target):
            yield target


def anchors_of(page: Path) -> set[str]:
    """The names of a page's headings, as pages that show the repository make them."""
    return {_anchor(heading) for heading in _HEADING.findall(prose_of(page.read_text()))}


def _anchor(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


@pytest.mark.parametrize("page", all_pages(), ids=name_of)
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    for target in links_of(page):
        path, _, anchor = target.partition("#")
        file = page.parent / path if path else page

        assert file.exists(), f"{name_of(page)} links to {target}, which is not there"
        if anchor:
            assert anchor in anchors_of(file), f"{name_of(page)} links to {target}, which has no such heading"


@pytest.mark.parametrize("page", all_pages(), ids=name_of)
def test_every_file_that_a_page_names_exists(page: Path) -> None:
    text = page.read_text()
    of_the_reader = {block.title for block in blocks_of(text)}

    for path in _PATH.findall(text):
        assert any((folder / path).exists() for folder in (page.parent, *_SOURCES)), f"{name_of(page)} names {path}"
    for name in set(_NAME.findall(text)) - of_the_reader:
        assert name in file_names(), f"{name_of(page)} names {name}"


@cache
def file_names() -> frozenset[str]:
    return frozenset(path.name for folder in ("src", "tests", "benchmarks") for path in (ROOT / folder).rglob("*.*"))


def test_every_page_of_the_manual_is_in_the_navigation_of_the_site() -> None:
    navigation = set(_leaves(yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"]))

    for page in example_pages():
        assert name_of(page).removeprefix("docs/") in navigation


def _leaves(tree: Any) -> Iterator[str]:
    match tree:
        case str():
            yield tree
        case list() | dict():
            for part in tree.values() if isinstance(tree, dict) else tree:
                yield from _leaves(part)


def test_every_setting_is_in_the_table_of_settings() -> None:
    table = (ROOT / "docs/stores-and-operations.md").read_text()
    key_of = {field: f"{section}.{key}" for section, keys in SECTIONS.items() for key, field in keys.items()}

    for field in FIELDS:
        assert f"`{key_of.get(field, field)}`" in table, field


def test_every_command_is_shown_in_the_manual() -> None:
    manual = "".join(page.read_text() for page in example_pages())

    for command in cli.list_commands(cli.make_context("rota", ["version"])):
        assert f"rota {command}" in manual, command


def test_the_glossary_lists_each_word_once() -> None:
    words = re.findall(r"^\| \*\*(.+?)\*\*", (ROOT / "GLOSSARY.md").read_text(), re.MULTILINE)

    assert len(words) == len(set(words)), sorted(words)
    assert {"job", "queue", "verdict", "admission", "validation"} <= set(words)
