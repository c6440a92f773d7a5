"""What the site does to pages: links out of it become paths, and the API reference is made."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

#: A link out of this folder; on the site there is nothing behind it.
OUTSIDE = re.compile(r"\[([^\]]*)\]\(\.\./([^)#]+)[^)]*\)")


def on_page_markdown(markdown: str, **_: object) -> str:
    """The page's text."""
    return OUTSIDE.sub(r"\1 (`\2`)", markdown)


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
