"""What `check_target` found: rows, and sentences."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import asdict, dataclass

from match_aie.errors import MismatchError, shorten
from match_aie.report.table import count, some, table


@dataclass(frozen=True)
class Ran:
    """A layer that a module ran.

    Attributes:
        layer: as the report names it.
        module: who.
        pattern: as what.
        predicted: modelled cycles, of the module's clock.
        simulated: cycles in the target's simulator; None where it has none.
    """

    layer: str
    module: str
    pattern: str
    predicted: float
    simulated: float | None = None

    @property
    def apart(self) -> float:
        """By what factor modelled and simulated cycles differ; 1 where there is nothing to say."""
        if not self.simulated or not self.predicted > 0:
            return 1.0
        return max(self.simulated / self.predicted, self.predicted / self.simulated)


@dataclass(frozen=True)
class Refusal:
    """A module that could not run what its pattern matched, and why."""

    layer: str
    module: str
    pattern: str
    reason: str


@dataclass(frozen=True)
class CheckRow:
    """One layer of the zoo on the target.

    Attributes:
        case: its name.
        problem: what is wrong, in a sentence; "" where nothing is.
        ran: the layers in modules.
        fallback: what the core ran: operators by C function.
        refused: who could not run it.
        able: modules and patterns that could have run a layer which another one ran.
        max_lsb: largest measured difference of the output from numpy's, in integer steps; None
            for float outputs.
        bound_lsb: the largest that it may have; None where nothing is known of an operator.
        proven_lsb: steps that layers in an arithmetic of their own may be off, each.
        max_abs: measured difference of a float output.
    """

    case: str
    problem: str = ""
    ran: tuple[Ran, ...] = ()
    fallback: tuple[str, ...] = ()
    refused: tuple[Refusal, ...] = ()
    able: tuple[tuple[str, str], ...] = ()
    max_lsb: int | None = None
    bound_lsb: int | None = None
    proven_lsb: tuple[int, ...] = ()
    max_abs: float | None = None


@dataclass(frozen=True)
class TargetCheck:
    """The whole check.

    Attributes:
        target: its name.
        rows: a row per layer of the zoo.
        problems: what is wrong with the target itself.
        remarks: what was not tried, or is worth a look.
        brought: modules of another author's target that are match_aie's own, such as `cpu`. What
            they refuse is in `rows`; the text leaves it out, since it is not for him to mend.
    """

    target: str
    rows: tuple[CheckRow, ...]
    problems: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    brought: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems and not any(row.problem for row in self.rows)

    def sentences(self) -> tuple[str, ...]:
        """Everything that is wrong, a sentence each."""
        rows = (f"{row.case}: {row.problem}" for row in self.rows if row.problem)
        return (*self.problems, *rows)

    def require(self) -> None:
        """Raise what is wrong, where something is.

        Raises:
            MismatchError: the check did not pass.
        """
        if not self.passed:
            shown = [shorten(sentence) for sentence in self.sentences()[:8]]
            raise MismatchError(
                "\n    ".join([f"target {self.target} does not pass its check:", *shown]),
                hint=f"match-aie check-target {self.target}",
            )

    def to_json(self) -> dict[str, object]:
        """Everything, as plain objects; says where every number is from."""
        return {
            **asdict(self),
            "passed": self.passed,
            "provenance": {
                "predicted": "modelled",
                "simulated": "simulated",
                "max_lsb": "measured",
                "max_abs": "measured",
            },
        }

    def __str__(self) -> str:
        """The rows as a table, then what is wrong, then remarks."""
        simulated = any(ran.simulated is not None for row in self.rows for ran in row.ran)
        header = ["layer", "runs on", ">cycles (modelled)"]
        header += [">simulated"] if simulated else []
        header += [">off (measured)", ""]
        rows = [_row(row, simulated) for row in self.rows]
        lines = [table(header, rows, "", 48) if rows else "", ""]
        if simulated and any(_untimed(row) for row in self.rows):
            lines.append("*         without layers that the simulator does not time")
        lines += [f"refused   {line}" for line in _refusals(self.rows, self.brought)]
        lines += [f"remark    {remark}" for remark in self.remarks]
        lines += [f"wrong     {sentence}" for sentence in self.sentences()]
        lines.append(f"{self.target}: {_verdict(self)}")
        return "\n".join(lines)


def _row(row: CheckRow, simulated: bool) -> list[str]:
    predicted = sum(ran.predicted for ran in row.ran)
    known = [ran.simulated for ran in row.ran if ran.simulated is not None]
    cells = [row.case, _runners(row), count(predicted) if row.ran else ""]
    cells += [count(sum(known)) + "*" * _untimed(row) if known else ""] if simulated else []
    off = "" if row.max_abs is None else f"{row.max_abs:.1e}"
    off = off if row.max_lsb is None else f"{row.max_lsb} LSB"
    return [*cells, off, "WRONG" if row.problem else "ok"]


def _untimed(row: CheckRow) -> bool:
    """Whether the simulator knows some of a row's layers, and others not."""
    return len({ran.simulated is None for ran in row.ran}) > 1


def _runners(row: CheckRow) -> str:
    modules = dict.fromkeys(ran.module for ran in row.ran)
    return " + ".join([*modules, *(["core"] if row.fallback else [])])


def _refusals(rows: tuple[CheckRow, ...], brought: Collection[str]) -> Iterator[str]:
    """A line per module and reason, with the layers that it is about; none of modules `brought`."""
    layers: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        for refusal in row.refused:
            known = layers.setdefault((refusal.module, refusal.reason), [])
            known += [] if row.case in known else [row.case]
    for (module, reason), cases in layers.items():
        if module not in brought:
            yield shorten(f"{module}: {some(cases, 2)}: {in_a_line(reason)}", 300)


def in_a_line(reason: str) -> str:
    r"""A reason of several lines, such as what does not fit and who uses it, as one.

    >>> in_a_line("L1 does not fit\n    x: 8 bytes")
    'L1 does not fit; x: 8 bytes'
    """
    return "; ".join(line.strip() for line in reason.splitlines())


def _verdict(check: TargetCheck) -> str:
    wrong = len(check.sentences())
    if wrong:
        return f"{wrong} thing{'s' if wrong > 1 else ''} wrong"
    taken = sum(bool(row.ran) for row in check.rows)
    number = f"{len(check.rows)} layer{'s' if len(check.rows) > 1 else ''}"
    return f"{number} right, {taken} of them in modules"
