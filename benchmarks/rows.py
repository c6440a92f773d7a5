"""The rows of a benchmark: printed in columns, and written as JSON."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

#: Columns as wide as their widest word; the note comes last, as long as it is.
COLUMNS = ("case", "metric", "value", "unit", "provenance")


def figure(
    case: str, metric: str, value: float, unit: str, provenance: str, note: str = ""
) -> dict[str, object]:
    """One figure."""
    return {
        "case": case,
        "metric": metric,
        "value": round(value, 4),
        "unit": unit,
        "provenance": provenance,
        "note": note,
    }


def processor() -> float:
    """Seconds that this process and its ended children have run on processors."""
    return sum(os.times()[:4])


def duration(case: str, metric: str, seconds: float, what: str = "") -> dict[str, object]:
    """A figure of `processor`'s seconds, which says so: they are no wall-clock time."""
    note = "; ".join(filter(None, (what, "time of processors")))
    return figure(case, metric, seconds, "s", "measured", note)


def report(rows: Sequence[dict[str, object]], path: Path | None) -> None:
    """Print `rows`, and write them to `path` where there is one."""
    widths = {name: max(len(str(row[name])) for row in rows) for name in COLUMNS}
    for row in rows:
        cells = [
            f"{row[name]!s:>{width}s}" if name == "value" else f"{row[name]!s:{width}s}"
            for name, width in widths.items()
        ]
        print(*cells, row["note"])
    if path:
        path.write_text(json.dumps(rows, indent=1) + "\n")
