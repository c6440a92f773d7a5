"""What the site does to pages: links to the repository's other files become their paths."""

import re

#: A link out of this folder; on the site there is nothing behind it.
OUTSIDE = re.compile(r"\[([^\]]*)\]\(\.\./([^)#]+)[^)]*\)")


def on_page_markdown(markdown: str, **_: object) -> str:
    """The page's text."""
    return OUTSIDE.sub(r"\1 (`\2`)", markdown)
