"""`report.html`: one file that needs nothing else, every name in it escaped."""

from __future__ import annotations

from functools import cache

from mako.template import Template

from match_aie import templates

#: Of the project's folder. It describes the project and is no part of it: deleting it is no harm.
FILE = "report.html"


def render_page(page: object) -> bytes:
    """The report of a `match_aie.report.Page`; the same bytes for the same page."""
    text = str(_template().render(page=page))
    return (text.strip() + "\n").encode()


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
