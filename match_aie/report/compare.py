"""What differs between two compilations of a network, call by call."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass

from match_aie.errors import shorten
from match_aie.report.network import NetworkReport, StepRow
from match_aie.report.table import count, table
from match_aie.report.text import FALLBACK


@dataclass(frozen=True)
class Side:
    """A call in one of the two.

    Attributes:
        module: who runs it, and as what.
        cycles: modelled, of the module's clock; None for the fallback.
        simulated: cycles of the target's clock; None where nothing simulates it.
    """

    module: str
    cycles: float | None
    simulated: float | None


@dataclass(frozen=True)
class Difference:
    """A call that is not the same in both; None where one of them lacks it."""

    name: str
    first: Side | None
    second: Side | None


@dataclass(frozen=True)
class Total:
    """A number of both networks.

    Attributes:
        what: it counts.
        first: of the first one; None where it is not known.
        second: likewise.
        unit: of both.
        provenance: modelled, simulated or planned.
    """

    what: str
    first: float | None
    second: float | None
    unit: str
    provenance: str


@dataclass(frozen=True)
class Comparison:
    """Two compilations.

    Attributes:
        first: name and target.
        second: likewise.
        totals: of whole networks.
        differences: in the order of the first one's calls, then what only the second has.
        same: number of calls that are the same.
    """

    first: str
    second: str
    totals: tuple[Total, ...]
    differences: tuple[Difference, ...]
    same: int


def compare(first: NetworkReport, second: NetworkReport) -> Comparison:
    """Calls are matched by name; of several with one name the first ones, then the second ones."""
    pairs = [(name, _side(a), _side(b)) for name, a, b in _pairs(first, second)]
    found = [Difference(name, a, b) for name, a, b in pairs if a is None or b is None or a != b]
    return Comparison(
        f"{first.name} for {first.target}",
        f"{second.name} for {second.target}",
        tuple(_totals(first, second)),
        tuple(found),
        len(pairs) - len(found),
    )


def _pairs(
    first: NetworkReport, second: NetworkReport
) -> Iterator[tuple[str, StepRow | None, StepRow | None]]:
    """Calls of both, by name."""
    left: dict[str, list[StepRow]] = {}
    for step in second.steps:
        left.setdefault(step.name, []).append(step)
    for step in first.steps:
        there = left.get(step.name)
        yield step.name, step, there.pop(0) if there else None
    for step in second.steps:
        if any(step is each for each in left[step.name]):
            yield step.name, None, step


def _side(step: StepRow | None) -> Side | None:
    if step is None:
        return None
    if step.layer is None:
        return Side(FALLBACK, None, step.simulated)
    return Side(f"{step.layer.module} {step.layer.pattern}", step.layer.cycles, step.simulated)


def _totals(first: NetworkReport, second: NetworkReport) -> Iterator[Total]:
    """What is known of either."""
    names = (
        ("time", "cycles", "modelled"),
        ("time", "cycles", "simulated"),
        ("time", "us", "simulated"),
        ("energy", "uJ", "modelled"),
        ("memory of tensors", "bytes", "planned"),
        ("constants", "bytes", "planned"),
    )
    pairs = zip(names, _numbers(first), _numbers(second), strict=True)
    for (what, unit, origin), a, b in pairs:
        if a is not None or b is not None:
            yield Total(what, a, b, unit, origin)


def _numbers(report: NetworkReport) -> tuple[float | None, ...]:
    return (
        report.cover.cycles if report.cover else None,
        report.simulated.cycles if report.simulated else None,
        report.simulated.microseconds if report.simulated else None,
        report.energy.total / 1e6 if report.energy else None,
        float(sum(use.nbytes for use in report.memory)),
        float(report.constant_bytes),
    )


def comparison_text(found: Comparison) -> str:
    """Totals, then a row per call that differs."""
    totals = [
        (
            *(t.what, _number(t.first, t.unit), _number(t.second, t.unit)),
            *(_change(t.first, t.second), f"{t.unit}, {t.provenance}"),
        )
        for t in found.totals
    ]
    rows = [
        (
            shorten(each.name, 40),
            each.first.module if each.first else "-",
            each.second.module if each.second else "-",
            *(_cycles(side) for side in (each.first, each.second)),
        )
        for each in found.differences
    ]
    header = ("call", "first", "second", ">first, cycles", ">second, cycles")
    lines = [
        f"first   {found.first}",
        f"second  {found.second}",
        "",
        table(("", ">first", ">second", ">change", ""), totals, "  ", 100),
        "",
        f"{found.same} calls are the same, {len(rows)} differ"
        + (" (cycles simulated where known, else modelled):" if rows else ""),
    ]
    return "\n".join([*lines, *([table(header, rows, "  ", 120)] if rows else [])])


def _number(value: float | None, unit: str) -> str:
    if value is None:
        return "-"
    return f"{value:,.1f}" if unit in ("us", "uJ") else count(value)


def _change(a: float | None, b: float | None) -> str:
    return f"{100 * (b / a - 1):+.1f} %" if a and b is not None else ""


def _cycles(side: Side | None) -> str:
    if side is None:
        return "-"
    if side.simulated is not None:
        return f"{count(side.simulated)} simulated"
    return "-" if side.cycles is None else f"{count(side.cycles)} modelled"


def comparison_json(found: Comparison) -> dict[str, object]:
    """The same as plain objects."""
    return {
        "first": found.first,
        "second": found.second,
        "totals": [asdict(total) for total in found.totals],
        "same": found.same,
        "differences": [asdict(each) for each in found.differences],
    }
