"""`report.html`: one file that needs nothing else, every name in it escaped."""

from __future__ import annotations

import hashlib
import json
from base64 import b64encode
from functools import cache

from mako.template import Template

from match_aie import templates

#: Of the project's folder. It describes the project and is no part of it: deleting it is no harm.
FILE = "report.html"

#: What draws its figures, with the library that the page brings along.
SCRIPT = "report/page.js.mako"


def render_page(page: object) -> bytes:
    """The report of a `match_aie.report.Page`; the same bytes for the same page."""
    text = str(
        _template().render(page=page, script=templates.source(SCRIPT), allowed=_allowed, data=_data)
    )
    return (text.strip() + "\n").encode()


def _allowed(script: str) -> str:
    """A script by its digest, as a content security policy names it: no other one runs."""
    return f"'sha256-{b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


def _data(value: object) -> str:
    """JSON that cannot end the element it stands in, whatever names it holds."""
    text = json.dumps(value, separators=(",", ":"), sort_keys=True)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


@cache
def _template() -> Template:
    path = "report/report.html.mako"
    # Names come from models and may hold anything: all that is printed is escaped.
    return Template(
        text=templates.source(path),
        filename=path,
        strict_undefined=True,
        default_filters=["str", "h"],
    )
