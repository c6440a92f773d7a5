"""What the site does to pages: links get titles or become paths, and the API reference is made."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

#: A link out of this folder; on the site there is nothing behind it.
OUTSIDE = re.compile(r"\[([^\]]*)\]\(\.\./([^)#]+)[^)]*\)")


#: A link that is called what its file is called.
NAMED = re.compile(r"\[(\w+\.md)\](?=\(\1[#)])")


def on_page_markdown(markdown: str, *, config: MkDocsConfig, **_: object) -> str:
    """The page's text; links to other pages bear the titles that the menu shows."""
    titles = dict(_titles(config.nav or ()))
    markdown = NAMED.sub(lambda link: f"[{titles.get(link[1], link[1])}]", markdown)
    return OUTSIDE.sub(r"\1 (`\2`)", markdown)


def _titles(menu: Iterable[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    """(file, title) of every page in a menu and the menus in it."""
    for entry in menu:
        for title, of in entry.items():
            if isinstance(of, str):
                yield of, title
            else:
                yield from _titles(of)


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """The pages, and the one that docstrings make."""
    from mkdocs.structure.files import File

    sys.path[:0] = [str(Path(__file__).parent)]  # this file is read by its path
    try:
        import site_api
    finally:
        del sys.path[0]
    files.append(File.generated(config, "api.md", content=site_api.page()))
    return files
