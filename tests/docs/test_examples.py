"""Every example of the README and of the manual runs, page by page, from top to bottom, as a reader would do it.

- `console`: lines with `$ ` are commands for a shell; what stands below one is what it prints (`shown.py` compares).
- `python`: run as a script; it prints what its comments `# prints ...` say.
- `title="name"` makes a block a file in the reader's folder; one of Python must be importable.
- `yaml`: read as Rota's configuration file; `json` and `toml` must be valid; `text` is a picture.
- `<!-- not run: reason -->` above a block leaves it out.

The ports that a page names stand for free ones, so that pages can run beside each other. A page that names the port of
Redis has an empty server there.
"""

import json
import re
import sys
import tomllib
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

import pytest

from rota.dialects import registry
from rota.settings import load_settings
from tests.docs.pages import ROOT, Block, blocks_of, commands_of, example_pages, name_of
from tests.docs.session import Session
from tests.ports import free_port
from tests.servers import RedisServer

MOST_NOT_RUN = 7
_REDIS_PORT = "6379"
_PORT = re.compile(rf"\b(23071|23072|5000|{_REDIS_PORT})\b")
_EVERY_HOUR = '"0 * * * *"'
_PRINTS = re.compile(r"# prints (.*)$", re.MULTILINE)


class Reader:
    """Somebody who does what a page says."""

    def __init__(self, session: Session, ports: dict[str, int]) -> None:
        self._session = session
        self._ports = ports
        # Half an hour away: it does not strike while the page is read.
        self._every_hour = f'"{(datetime.now(UTC).minute + 30) % 60} * * * *"'

    def do(self, block: Block) -> None:
        text = _PORT.sub(lambda found: str(self._ports[found[1]]), block.text).replace(_EVERY_HOUR, self._every_hour)
        block = block._replace(text=text)
        match block.language:
            case "console":
                for command in commands_of(block):
                    self._session.run(command)
            case "python":
                self._do_python(block)
            case "yaml":
                self._load_settings(block)
            case "json":
                json.loads(text)
            case "toml":
                tomllib.loads(text)
            case "sh":
                self._write(block).chmod(0o755)
            case "text":
                pass
            case other:
                raise AssertionError(f"nobody checks blocks of the language {other!r}")

    def _do_python(self, block: Block) -> None:
        if block.title:
            self._session.run_python(f"import runpy; runpy.run_path({str(self._write(block))!r})", [])
        else:
            self._session.run_python(block.text, _PRINTS.findall(block.text))

    def _load_settings(self, block: Block) -> None:
        path = self._write(block._replace(title=block.title or ".example.yaml"))
        load_settings({}, {}, path, self._session.folder, registry.sections())

    def _write(self, block: Block) -> Path:
        assert block.title, "it needs a title: the name of the file"
        path = self._session.folder / block.title
        path.write_text(block.text)
        return path


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def reader_of(page: str, folder: Path, stack: ExitStack) -> Reader:
    """A reader with an empty folder, and with a Redis if the page speaks of one."""
    ports = {one: free_port() for one in ("23071", "23072", "5000")}
    own_programs = folder / "programs"
    (folder / "empty").mkdir()
    own_programs.mkdir()
    if _REDIS_PORT in page:
        ports[_REDIS_PORT] = stack.enter_context(RedisServer({"appendonly": "yes"})).port
        _write_redis_cli(own_programs / "redis-cli", ports[_REDIS_PORT])
    session = stack.enter_context(Session(folder / "empty", own_programs, port=ports["23071"]))
    return Reader(session, ports)


def _write_redis_cli(path: Path, port: int) -> None:
    path.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m tests.docs.redis_cli {port} "$@"\n')
    path.chmod(0o755)


@pytest.mark.parametrize("page", example_pages(), ids=name_of)
def test_the_examples_of_a_page_run(page: Path, tmp_path: Path, stack: ExitStack) -> None:
    text = page.read_text()
    blocks = [block for block in blocks_of(text) if block.not_run is None]
    reader = reader_of("".join(block.text for block in blocks), tmp_path, stack) if blocks else None

    for block in blocks:
        if reader and (problem := problem_with(block, reader)):
            pytest.fail(f"{name_of(page)}:{block.line}: {problem}", pytrace=False)


def problem_with(block: Block, reader: Reader) -> str | None:
    try:
        reader.do(block)
    except AssertionError as error:
        return str(error)
    return None


def test_few_examples_are_left_out() -> None:
    left_out = [
        f"{name_of(page)}:{block.line}: {block.not_run}"
        for page in example_pages()
        for block in blocks_of(page.read_text())
        if block.not_run
    ]

    assert len(left_out) <= MOST_NOT_RUN, left_out
