"""Rows of a results file, as the tables of the documents read them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

Lines = Iterator[Sequence[object]]


class Rows:
    """Rows of a results file by case and metric."""

    def __init__(self, rows: Sequence[dict[str, Any]]) -> None:
        """All rows of a file; a metric may come several times."""
        self._found: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
        for row in rows:
            self._found[row["case"], row["metric"]].append(row)

    def all(self, case: str, metric: str) -> list[float]:
        """Values of a metric, in order."""
        return [row["value"] for row in self._found[case, metric]]

    def value(self, case: str, metric: str, digits: int = 3) -> str:
        """The value with `digits` after the point.

        Raises:
            KeyError: there is no such row.
        """
        values = self.all(case, metric)
        if not values:
            raise KeyError(f"{case}: {metric}")
        return f"{values[0]:,.{digits}f}"

    def note(self, case: str, metric: str) -> str:
        """What the row says beside its value."""
        return str(self._found[case, metric][0].get("note", ""))

    def cases(self, metric: str) -> list[str]:
        """Cases that have a metric, in order."""
        return [case for case, name in self._found if name == metric]

    def machine(self) -> str:
        """The processor, what else is known of the machine, and the day."""
        (row,) = self._found["machine", "name"]
        return f"{row['value']}, {row['note']}"


def half_and_double(rows: Rows, case: str, metric: str, decimals: int) -> str:
    """What `metric` is at half and at double of every assumed constant."""
    return " / ".join(rows.value(case, f"{metric}_{at}", decimals) for at in ("half", "double"))
