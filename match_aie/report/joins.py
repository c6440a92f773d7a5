"""Concatenations: which ones are no code at all, and why the others copy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from match_aie.errors import shorten
from match_aie.report.table import count

#: Concatenations that copy are listed up to this number.
LISTED = 8


@dataclass(frozen=True)
class JoinRow:
    """A concatenation.

    Attributes:
        name: as users know it.
        nbytes: of its result; final.
        copied: bytes of them that emitted code copies; final.
        reasons: why.
    """

    name: str
    nbytes: int
    copied: int
    reasons: tuple[str, ...]


def join_rows(manifest: Mapping[str, Any]) -> tuple[JoinRow, ...]:
    """Of a `match_aie.json`; none in projects of versions that did not say."""
    return tuple(
        JoinRow(
            str(row["label"]),
            int(row["nbytes"]),
            int(row["copied"]),
            tuple(str(reason) for reason in row["reasons"]),
        )
        for row in manifest.get("joins", ())
    )


def join_text(rows: Sequence[JoinRow]) -> str:
    """How many need no code, and the ones that do, a line each."""
    copying = [row for row in rows if row.copied]
    placed = sum(row.nbytes - row.copied for row in rows)
    lines = [
        f"concat    {len(rows) - len(copying)} of {len(rows)} without code: operands of "
        f"{count(placed)} bytes are made in place"
    ]
    for row in copying[:LISTED]:
        why = "; ".join(row.reasons)
        lines.append(
            f"          {shorten(row.name, 40)} copies {count(row.copied)} of "
            f"{count(row.nbytes)} bytes: {shorten(why)}"
        )
    if len(copying) > LISTED:
        lines.append(f"          and {len(copying) - LISTED} more")
    return "\n".join(lines)
