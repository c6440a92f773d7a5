"""Plain-text tables: aligned columns, nothing that a terminal could misread."""

from __future__ import annotations

from collections.abc import Sequence

from match_aie.errors import shorten

#: A wider cell is cut by default: names come from the model and may be of any length.
WIDEST = 40


def table(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    indent: str = "  ",
    widest: int = WIDEST,
) -> str:
    r"""`rows` below `header`; columns whose name begins with ">" align right.

    Args:
        header: names of the columns.
        rows: as many cells each.
        indent: before every line.
        widest: characters of a cell; longer ones are cut.

    >>> print(table(("name", ">size"), [("a", "7"), ("b", "12")], indent=""))
    name  size
    a        7
    b       12
    """
    names = [name.removeprefix(">") for name in header]
    cells = [[shorten(cell, widest) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(names, *cells, strict=True)]
    lines = []
    for row in (names, *cells):
        padded = [
            cell.rjust(width) if name.startswith(">") else cell.ljust(width)
            for name, cell, width in zip(header, row, widths, strict=True)
        ]
        lines.append((indent + "  ".join(padded)).rstrip())
    return "\n".join(lines)


def some(names: Sequence[str], most: int = 3) -> str:
    """The first of `names`, and how many more there are.

    >>> some(["a", "b"]), some(["a", "b", "c"], 1)
    ('a, b', 'a and 2 more')
    """
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def extent(shape: Sequence[int]) -> str:
    """A shape in few characters; a scalar is "-".

    >>> extent((1, 8, 8, 16)), extent(())
    ('1x8x8x16', '-')
    """
    return "x".join(map(str, shape)) or "-"


def count(value: float) -> str:
    """A number with thousands separated, without decimals.

    >>> count(1234567.0)
    '1,234,567'
    """
    return f"{value:,.0f}"
