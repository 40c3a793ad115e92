"""A hook of MkDocs: documents outside docs/ become pages of the site too, with the README as its first page.

Documents link to each other by their paths in the repository. In the site, what is in docs/ moves up by one level, so
links that cross its border are rewritten.
"""

import os
import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
OUTSIDE = (
    "*.md",
    "benchmarks/*.md",
    "contrib/sidekiq/README.md",
    "tests/README.md",
    "tests/mutants/README.md",
    "examples/**/*.*",
    "LICENSE",
)
_LINK = re.compile(r"\]\((?![a-z]+:|#)([^)#\s]+)((?:#[^)\s]*)?)\)")


def on_files(files: Files, config: MkDocsConfig, **_: Any) -> Files:
    """Add the documents outside docs/."""
    for pattern in OUTSIDE:
        for path in sorted(ROOT.glob(pattern)):
            files.append(File.generated(config, str(path.relative_to(ROOT)), abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Turn links between paths in the repository into links between pages of the site."""
    here = page.file.src_uri
    home = posixpath.dirname(os.path.relpath(str(page.file.abs_src_path), ROOT))

    def in_site(found: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(home, found[1])).removeprefix("docs/")
        return f"]({posixpath.relpath(target, posixpath.dirname(here) or '.')}{found[2]})"

    return _LINK.sub(in_site, markdown)
